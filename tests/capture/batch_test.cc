// A recorded step taken to another batch is the step recorded at that batch.
#include <gtest/gtest.h>

#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

Capture RecordAt(const TinyModel& model, int64_t batch) {
  CaptureRequest request{model.model, model.training, model.values};
  request.values["batch"] = static_cast<double>(batch);
  Result<Capture> capture = CaptureZooModel(request);
  EXPECT_TRUE(capture.ok()) << capture.error().ToString();
  return capture.Take();
}

// The text form without the sizes that the proof was made at.
std::string Content(const Graph& graph) {
  std::string text = ToText(graph);
  const size_t proof = text.find("\nbatch ");
  EXPECT_NE(proof, std::string::npos);
  return text.erase(proof, text.find('\n', proof + 1) - proof);
}

void ExpectSame(const Graph& found, const Graph& expected) {
  EXPECT_EQ(found.batch(), expected.batch());
  ASSERT_EQ(Content(found), Content(expected));
  for (const OpId op : expected.ops()) {
    ASSERT_EQ(found.op(op).args, expected.op(op).args) << expected.op(op).name;
    ASSERT_EQ(found.op(op).attributes, expected.op(op).attributes) << expected.op(op).name;
  }
  EXPECT_EQ(std::vector(found.outputs().begin(), found.outputs().end()),
            std::vector(expected.outputs().begin(), expected.outputs().end()));
}

// Recorded at `from`, written, and read at `to`; there and back again, it is what was recorded.
void ExpectScales(const TinyModel& model, int64_t from, int64_t to) {
  SCOPED_TRACE(testing::Message() << from << " -> " << to);
  const Capture recorded = RecordAt(model, from);
  ASSERT_EQ(recorded.graph.batch_scaling()->reason, "");
  const std::string text = WriteAtenGraph(recorded.graph, recorded.module_stated, nullptr).Take();
  Result<AtenGraph> scaled = ReadAtenFile(text, to);
  ASSERT_TRUE(scaled.ok()) << scaled.error().ToString();
  ExpectSame(scaled.value().graph, RecordAt(model, to).graph);
  const std::string text_there =
      WriteAtenGraph(scaled.value().graph, scaled.value().module_stated, nullptr).Take();
  const Result<AtenGraph> back = ReadAtenFile(text_there, from);
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  ExpectSame(back.value().graph, recorded.graph);
}

class Scaled : public ::testing::TestWithParam<TinyModel> {};

TEST_P(Scaled, IsWhatWouldHaveBeenRecorded) {
  ExpectScales(GetParam(), 4, 7);
  ExpectScales(GetParam(), 5, 2);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Scaled, ::testing::ValuesIn(TinyModels()), [](const auto& test) {
  std::string name = ::testing::PrintToString(test.param) + "_" + std::to_string(test.index);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(ScaledModels, AtTheirOwnSizes) {
  ExpectScales({"bert-base", Training::kAdam, {}}, 24, 7);
  ExpectScales({"gnmt-2", Training::kAdam, {}}, 64, 3);
  ExpectScales({"inception-v3", Training::kSgd, {}}, 8, 33);
}

}  // namespace
}  // namespace placewright
