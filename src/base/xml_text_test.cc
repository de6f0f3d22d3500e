#include "base/xml_text.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(XmlTextTest, MarksGoAndWhatTheyHoldStays) {
  EXPECT_EQ(xml_text("<?xml version='1.0'?><a b='c'>one<!-- not > this --><i>two</i></a>"),
            "  one not > this  two  ");
  EXPECT_EQ(xml_text("<a><![CDATA[x < y & z]]></a>"), " x < y & z ");
}

TEST(XmlTextTest, ReferencesBecomeWhatTheyStandForAndOthersStay) {
  EXPECT_EQ(xml_text("&lt;blink&gt; &amp; &#233;&#xE9;&#x1F600;"), "<blink> & éé😀");
  EXPECT_EQ(xml_text("AT&T &unknown; &#xD800;&#0;& &"), "AT&T &unknown; & &");
}

TEST(XmlTextTest, WhatNeverEndsEnds) {
  EXPECT_EQ(xml_text("a<b"), "a ");
  EXPECT_EQ(xml_text("a<!-- b"), "a b");
  EXPECT_EQ(xml_text("a<![CDATA[b"), "ab");
  EXPECT_EQ(xml_text(""), "");
}

TEST(XmlTextTest, OnlyWhatSaysSoIsXml) {
  EXPECT_TRUE(begins_as_xml("<?xml version='1.0'?>"));
  EXPECT_TRUE(begins_as_xml("\n <?xml?>"));
  EXPECT_TRUE(begins_as_xml("<!DOCTYPE article>"));
  EXPECT_FALSE(begins_as_xml("see <?xml?>"));
  EXPECT_FALSE(begins_as_xml(""));
}

}  // namespace
}  // namespace quern
