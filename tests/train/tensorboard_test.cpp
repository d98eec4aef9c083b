#include "steepest/train/tensorboard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/train/tensorboard_event.pb.h"
#include "tests/support/temporary_folder.h"

namespace steepest::train {
namespace {

using test::slurp;
using test::TemporaryFolder;
using test::write;

TEST(Crc32c, KnownAnswers) {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, Masked) {
  // Rotated right by 15, 0xa282ead8 added: 0xE3069283 -> 0x2507C60D -> 0xC78AB0E5.
  EXPECT_EQ(masked_crc32c("123456789"), 0xC78AB0E5u);
}

TEST(TfRecord, FramesAsTensorFlowDoes) {
  // The empty record: length 0, its masked CRC, the masked CRC of nothing.
  const std::string record = tfrecord("");
  ASSERT_EQ(record.size(), 16u);
  EXPECT_EQ(record.substr(0, 8), std::string(8, '\0'));
  EXPECT_EQ(record.substr(12), std::string("\xD8\xEA\x82\xA2", 4));
  std::string_view bytes = record;
  EXPECT_EQ(take_tfrecord(bytes), "");
  EXPECT_TRUE(bytes.empty());
}

TEST(TfRecord, RefusesWhatIsCutShortOrAltered) {
  const std::string record = tfrecord("scalars");
  for (std::size_t size = 0; size < record.size(); ++size) {
    std::string_view bytes(record.data(), size);
    EXPECT_FALSE(take_tfrecord(bytes)) << size;
  }
  for (std::size_t at = 0; at < record.size(); ++at) {
    std::string altered = record;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    std::string_view bytes = altered;
    EXPECT_FALSE(take_tfrecord(bytes)) << at;
  }
}

std::vector<tensorboard::Event> events_in(const std::filesystem::path& path) {
  const std::string bytes = slurp(path);
  std::string_view rest = bytes;
  std::vector<tensorboard::Event> events;
  while (const auto record = take_tfrecord(rest)) {
    events.emplace_back();
    EXPECT_TRUE(events.back().ParseFromString(std::string(*record)));
  }
  EXPECT_TRUE(rest.empty());
  return events;
}

TEST(EventFile, HoldsTheScalarsOfTheMetrics) {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 1700000000.5);
  EXPECT_EQ(file.path().filename(), "events.out.tfevents.1700000000.steepest");
  file.append({.step = 7, .tokens = 14, .loss = 2.5, .val_loss = 3.5}, 1700000001.0);
  const auto events = events_in(file.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[0].wall_time(), 1700000000.5);
  EXPECT_EQ(events[1].step(), 7);
  ASSERT_EQ(events[1].summary().value_size(), 3);
  EXPECT_EQ(events[1].summary().value(0).tag(), "loss");
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 2.5f);
  EXPECT_EQ(events[1].summary().value(1).tag(), "tokens");
  EXPECT_EQ(events[1].summary().value(2).tag(), "val_loss");
  EXPECT_EQ(events[1].summary().value(2).simple_value(), 3.5f);
}

TEST(EventFile, BytesAreTensorBoards) {
  // Event{wall_time: 1, step: 2, summary{value{tag: "a", simple_value: 1}}} by TensorBoard's field
  // numbers: 1 double, 2 varint, 5 message { 1 message { 1 string, 2 float } }.
  tensorboard::Event event;
  event.set_wall_time(1);
  event.set_step(2);
  auto* value = event.mutable_summary()->add_value();
  value->set_tag("a");
  value->set_simple_value(1);
  const std::string want(
      "\x09\0\0\0\0\0\0\xF0\x3F\x10\x02\x2A\x0A\x0A\x08\x0A\x01"
      "a\x15\0\0\x80\x3F",
      23);
  EXPECT_EQ(event.SerializeAsString(), want);
}

TEST(EventFile, WritesZeros) {
  tensorboard::Summary summary;
  auto* value = summary.add_value();
  value->set_tag("a");
  value->set_simple_value(0);
  EXPECT_EQ(summary.SerializeAsString(), std::string("\x0A\x08\x0A\x01"
                                                     "a\x15\0\0\0\0",
                                                     10));
}

TEST(EventFile, GoesOnInTheNewestFile) {
  const TemporaryFolder folder;
  { EventFile(folder.path(), 100).append({.step = 1, .loss = 1.0}, 101); }
  EventFile again(folder.path(), 200);
  again.append({.step = 2, .loss = 1.0}, 201);
  EXPECT_EQ(again.path().filename(), "events.out.tfevents.100.steepest");
  EXPECT_EQ(events_in(again.path()).size(), 3u);
}

TEST(EventFile, TruncatesLaterStepsAndBrokenRecords) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  {
    EventFile file(folder.path(), 100);
    path = file.path();
    for (std::int64_t step = 0; step < 5; ++step) file.append({.step = step, .loss = 1.0}, 101);
  }
  write(path, slurp(path) + tfrecord("unfinished").substr(0, 9));
  truncate_events(folder.path(), 2);
  const auto events = events_in(path);
  ASSERT_EQ(events.size(), 4u);  // the version, steps 0, 1 and 2
  EXPECT_EQ(events.back().step(), 2);
  truncate_events(folder.path(), -1);
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
  EventFile again(folder.path(), 300);
  EXPECT_EQ(events_in(path).size(), 1u);
}

}  // namespace
}  // namespace steepest::train
