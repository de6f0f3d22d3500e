// The Pst step on what is no store, and what it writes of events and contacts. Whole stores are
// those of the corpus.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/pff_message.h"
#include "worker/step_children.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::ErrorKind;

TEST(PstTest, WhatIsNoStoreSaysSo) {
  pst_step().warm();
  for (const std::string& bytes :
       {std::string(), std::string("just words"), "!BDN" + std::string(20'000, '\0'),
        "!BDN" + std::string(20'000, '\xFF')}) {
    const StepRun run = run_step(pst_step(), "a.pst", bytes);
    ASSERT_TRUE(run.end.has_value());
    EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
    EXPECT_TRUE(made_children(run).empty());
  }
}

TEST(PstTest, EventsAreCalendars) {
  MapiBag bag;
  bag.put(mapi::kMessageClass, MapiKind::Text8, "IPM.Appointment");
  bag.put(mapi::kBody, MapiKind::Text8, "Bring; cake,\r\nplease");
  bag.put_number(mapi::kStartDate, (1'057'049'557ULL + 11'644'473'600ULL) * 10'000'000ULL,
                 MapiKind::Time);
  MailMessage mail;
  mail.set("Subject", "Party");
  EXPECT_EQ(pff_kind(bag), PffKind::Event);
  EXPECT_EQ(event_text(bag, mail, 0x24),
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Quern//Pst//EN\r\nBEGIN:VEVENT\r\n"
            "UID:0x24\r\nSUMMARY:Party\r\nDESCRIPTION:Bring\\; cake\\,\\nplease\r\n"
            "DTSTART;VALUE=DATE-TIME:20030701T085237Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n");
}

TEST(PstTest, ContactsAreCards) {
  MapiBag bag;
  bag.put(mapi::kMessageClass, MapiKind::Text8, "IPM.Contact");
  bag.put(mapi::kDisplayName, MapiKind::Text8, "Ann");
  bag.put(0x3A1C, MapiKind::Text8, "+1 555");
  EXPECT_EQ(pff_kind(bag), PffKind::Contact);
  EXPECT_EQ(contact_text(bag),
            "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ann\r\nTEL;TYPE=cell:+1 555\r\nEND:VCARD\r\n");
}

TEST(PstTest, OutlooksOwnNotesAreNoChildren) {
  MapiBag bag;
  bag.put(mapi::kMessageClass, MapiKind::Text8, "IPM.Microsoft.ScheduleData.FreeBusy");
  EXPECT_EQ(pff_kind(bag), PffKind::Hidden);
}

}  // namespace
}  // namespace quern::worker
