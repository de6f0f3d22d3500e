#include "blob/s3_xml.h"

#include <gmock/gmock.h>

namespace quern::blob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(S3XmlTest, FindsTheTextsOfElements) {
  const std::string xml =
      "<?xml version=\"1.0\"?><List xmlns=\"x\"><Contents><Key>a&amp;b</Key></Contents>"
      "<Contents><Key>&lt;c&gt;</Key><Size>3</Size></Contents><IsTruncated>true</IsTruncated>"
      "</List>";
  EXPECT_THAT(xml_elements(xml, "Key"), ElementsAre("a&amp;b", "&lt;c&gt;"));
  EXPECT_EQ(xml_text(xml_elements(xml, "Contents").at(1), "Key"), "<c>");
  EXPECT_EQ(xml_text(xml, "IsTruncated"), "true");
  EXPECT_EQ(xml_text(xml, "None"), "");
}

TEST(S3XmlTest, WhatIsCutOffYieldsNothing) {
  EXPECT_THAT(xml_elements("<Key>a</Key><Key>b", "Key"), ElementsAre("a"));
  EXPECT_THAT(xml_elements("<Key", "Key"), IsEmpty());
  EXPECT_THAT(xml_elements("", "Key"), IsEmpty());
}

TEST(S3XmlTest, EscapesAndUnescapesAlike) {
  const std::string text = "a<b>&\"'&amp;c";
  EXPECT_EQ(xml_text("<K>" + xml_escaped(text) + "</K>", "K"), text);
}

}  // namespace
}  // namespace quern::blob
