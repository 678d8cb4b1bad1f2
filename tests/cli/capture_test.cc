// Recording models of the zoo, and planning by their names.
#include <gmock/gmock.h>

#include <fstream>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

using CaptureCommand = ProgramTest;

// A library that is not there: the message says what is missing and what to do, other commands run.
TEST_F(CaptureCommand, WithoutTheLibraryOnlyRecordingIsMissing) {
  RunOptions options;
  options.environment = {"PLACEWRIGHT_TORCH_LIBRARY=" + Write("broken.so", "no library")};
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"capture", "mlp"}, {"zoo"}, {"plan", "mlp", "-c", "2xV100"}}) {
    const Outcome run = RunJson(line, options);
    EXPECT_EQ(run.status, 6) << line[0];
    const Json error = run.json()["error"];
    EXPECT_EQ(error["code"], "missing-runtime") << line[0];
    EXPECT_THAT(error["remedy"].get<std::string>(), HasSubstr("libtorch-dev"));
  }
  EXPECT_FALSE(Exists("mlp.step.json.gz"));
  EXPECT_EQ(Run({"cluster", "show", "2xV100"}, options).status, 0);
}

#ifdef PLACEWRIGHT_HAS_TORCH

const std::vector<std::string> kTiny = {"--param", "hidden=16", "--param", "features=8"};

std::vector<std::string> With(std::vector<std::string> line, const std::vector<std::string>& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

TEST_F(CaptureCommand, WritesAGraphThatReadsBack) {
  const Json recorded =
      RunJson(With({"capture", "mlp", "--batch", "4", "-o", "m.json"}, kTiny)).json();
  EXPECT_EQ(recorded["schema"], "placewright.capture/1");
  EXPECT_EQ(recorded["batch"], 4);
  // 8 * 16 + 16, 16 * 16 + 16, 16 * 10 + 10.
  EXPECT_EQ(recorded["parameters"], 586);
  EXPECT_EQ(recorded["macs"]["forward"], 4 * (8 * 16 + 16 * 16 + 16 * 10));
  const Json read = RunJson({"inspect", "m.json"}).json();
  for (const char* field : {"ops", "edges", "parameters", "macs", "batch", "sha256"}) {
    EXPECT_EQ(read[field], recorded[field]) << field;
  }
  // The same command, the same bytes; gzip by the name.
  ASSERT_EQ(Run(With({"capture", "mlp", "--batch", "4", "-o", "n.json"}, kTiny)).status, 0);
  EXPECT_EQ(Read("n.json"), Read("m.json"));
  const Json packed = RunJson(With({"capture", "mlp", "--batch", "4"}, kTiny)).json();
  EXPECT_EQ(packed["file"], "mlp.step.json.gz");
  EXPECT_EQ(Read("mlp.step.json.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(RunJson({"inspect", "mlp.step.json.gz"}).json()["ops"], recorded["ops"]);
}

TEST_F(CaptureCommand, SmallerBatchesAreWhatWouldBeRecordedThere) {
  ASSERT_EQ(Run(With({"capture", "mlp", "--batch", "4", "-o", "m.json"}, kTiny)).status, 0);
  const auto notes = [&](const char* batch) {
    return RunJson({"inspect", "m.json", "--batch", batch}).json()["notes"].dump();
  };
  // This one was recorded at batch 1, too, and is the same there.
  EXPECT_THAT(notes("1"), testing::Not(HasSubstr("recorded at batch")));
  EXPECT_THAT(notes("2"), testing::Not(HasSubstr("recorded at batch")));
}

TEST_F(CaptureCommand, TheZooHasNoOpenDimensions) {
  const Json error = RunJson({"plan", "mlp", "--dim", "N=3", "-c", "4xP100"}).json()["error"];
  EXPECT_EQ(error["code"], "usage");
}

TEST_F(CaptureCommand, PresetsHaveNumbersOfTheirOwn) {
  const auto auxiliary = [&](const std::string& model) {
    const Json object = RunJson({"zoo", model}).json();
    for (const Json& parameter : object["parameters"]) {
      if (parameter["name"] == "auxiliary") return parameter["value"].get<double>();
    }
    return -1.0;
  };
  EXPECT_EQ(auxiliary("inception-v3"), 1);
  EXPECT_EQ(auxiliary("inception-v3@tag"), 0);
  const Json error = RunJson({"zoo", "inception-v3@tga"}).json()["error"];
  EXPECT_EQ(error["code"], "unknown-name");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("did you mean tag?"));
}

TEST_F(CaptureCommand, NearNamesAreFoundInAnyCase) {
  const Json error = RunJson({"plan", "BERT-Base", "-c", "4xP100"}).json()["error"];
  EXPECT_EQ(error["code"], "unknown-name");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("did you mean bert-base?"));
}

TEST_F(CaptureCommand, NeverReplacesTheModelItRecords) {
  ASSERT_EQ(Run(With({"capture", "mlp", "-o", "mlp"}, kTiny)).status, 0);
  const std::string before = Read("mlp");
  const Outcome run = RunJson({"capture", "./mlp", "-o", "mlp"});
  EXPECT_NE(run.status, 0);
  EXPECT_EQ(Read("mlp"), before);
}

TEST_F(CaptureCommand, ModelsAreComparedAndSimulated) {
  const Outcome compared = RunJson({"compare", "mlp", "-c", "2xV100", "--iterations", "10"});
  EXPECT_EQ(compared.status, 0) << compared.err;
  // Plans of two batch sizes keep a step each.
  for (const char* batch : {"4", "8"}) {
    const Outcome planned = Run({"plan", "mlp", "-c", "2xV100", "--iterations", "10", "--batch",
                                 batch, "-o", std::string("b") + batch + ".json"});
    EXPECT_EQ(planned.status, 0) << planned.err;
  }
  for (const char* plan : {"b4.json", "b8.json"}) {
    EXPECT_EQ(Run({"check", plan}).status, 0) << plan;
  }
}

TEST_F(CaptureCommand, TrainsAsAsked) {
  const auto phases = [&](const std::string& training) {
    const Outcome run = Run(With({"capture", "mlp", "--train", training, "-o", "t.json"}, kTiny));
    EXPECT_EQ(run.status, 0) << run.err;
    return RunJson({"inspect", "t.json"}).json()["phases"];
  };
  const Json none = phases("none");
  EXPECT_EQ(none["backward"], 0);
  EXPECT_EQ(none["optimizer"], 0);
  // Six parameters: three ops each with SGD; eight with Adam, and seven for all.
  EXPECT_EQ(phases("sgd")["optimizer"], 18);
  EXPECT_EQ(phases("adam")["optimizer"], 55);
}

TEST_F(CaptureCommand, APlanOfAModelNamesTheRecordedFile) {
  const Json plan =
      RunJson({"plan", "mlp", "-c", "2xV100", "--iterations", "1", "--batch", "8"}).json();
  EXPECT_EQ(plan["plan_file"], "mlp.plan.json");
  EXPECT_TRUE(Exists("mlp-batch8.step.json.gz"));
  EXPECT_EQ(RunJson({"check", "mlp.plan.json"}).json()["ok"], true);
  EXPECT_EQ(RunJson({"inspect", "mlp-batch8.step.json.gz"}).json()["batch"], 8);
  // Without a file, too.
  EXPECT_EQ(RunJson({"inspect", "mlp", "--batch", "8"}).json()["sha256"],
            RunJson({"inspect", "mlp-batch8.step.json.gz"}).json()["sha256"]);
}

// Every command takes the recorded step to the batch that it is asked for: it is the one recorded
// there.
TEST_F(CaptureCommand, AStepScalesWithItsBatch) {
  const Json four =
      RunJson(With({"capture", "mlp", "--batch", "4", "-o", "four.json"}, kTiny)).json();
  EXPECT_EQ(four["batch_proof"],
            (Json{{"sizes", {4, 5, 11}}, {"smaller", 1}, {"obstacle", nullptr}}));
  ASSERT_EQ(Run(With({"capture", "mlp", "--batch", "9", "-o", "nine.json"}, kTiny)).status, 0);
  const Json scaled = RunJson({"inspect", "four.json", "--batch", "9"}).json();
  const Json nine = RunJson({"inspect", "nine.json"}).json();
  for (const char* field : {"ops", "edges", "parameters", "macs", "batch", "memory"}) {
    EXPECT_EQ(scaled[field], nine[field]) << field;
  }
  EXPECT_THAT(Run({"inspect", "four.json"}).out,
              HasSubstr("scales with the batch, as recordings at 4, 5 and 11 prove"));
  const auto time = [&](const char* file, const char* batch) {
    const Outcome run = RunJson(
        {"plan", file, "-c", "2xV100", "--batch", batch, "--algo", "single", "-o", "p.json"});
    EXPECT_EQ(run.status, 0) << run.out;
    return run.json()["step_time_ns"];
  };
  EXPECT_EQ(time("four.json", "9"), time("nine.json", "9"));
}

TEST_F(CaptureCommand, APlanRemembersItsBatch) {
  ASSERT_EQ(Run(With({"capture", "mlp", "--batch", "4"}, kTiny)).status, 0);
  const Outcome run = RunJson({"plan", "mlp.step.json.gz", "-c", "2xV100", "--iterations", "1",
                               "--batch", "9", "-o", "p.json"});
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(Json::parse(Read("p.json"))["graph"]["batch_option"], 9);
  EXPECT_EQ(RunJson({"check", "p.json"}).json()["ok"], true);
  EXPECT_EQ(RunJson({"simulate", "p.json"}).json()["step_time_ns"], run.json()["step_time_ns"]);
  // The exported step is one of 9, and scales as the recorded one does.
  ASSERT_EQ(Run({"export", "p.json", "--to", "aten", "-o", "nine.json"}).status, 0);
  const Json nine = RunJson({"inspect", "nine.json"}).json();
  EXPECT_EQ(nine["batch"], 9);
  EXPECT_EQ(nine["batch_proof"]["sizes"], (Json{4, 5, 11}));
  EXPECT_EQ(RunJson({"inspect", "nine.json", "--batch", "4"}).json()["macs"],
            RunJson({"inspect", "mlp.step.json.gz"}).json()["macs"]);
}

TEST_F(CaptureCommand, AStepOfOneBatchSaysSo) {
  const Outcome recorded =
      Run(With({"capture", "mlp", "--batch", "4", "--one-batch", "-o", "m.json"}, kTiny));
  EXPECT_THAT(recorded.out, HasSubstr("valid for batch 4 only"));
  EXPECT_EQ(RunJson({"inspect", "m.json"}).json()["batch_proof"], nullptr);
  EXPECT_EQ(RunJson({"inspect", "m.json", "--batch", "4"}).status, 0);
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"inspect", "m.json", "--batch", "8"},
        {"plan", "m.json", "-c", "2xV100", "--batch", "8"},
        {"compare", "m.json", "-c", "2xV100", "--batch", "8"}}) {
    const Outcome run = RunJson(line);
    EXPECT_EQ(run.status, 3) << line[0];
    EXPECT_EQ(run.json()["error"]["code"], "batch-scaling") << line[0];
    EXPECT_THAT(run.json()["error"]["remedy"].get<std::string>(),
                HasSubstr("placewright capture MODEL --batch 8"));
  }
}

TEST_F(CaptureCommand, AFileWinsOverAModel) {
  ASSERT_EQ(Run(With({"capture", "mlp", "--batch", "3", "-o", "mlp"}, kTiny)).status, 0);
  EXPECT_EQ(RunJson({"inspect", "mlp"}).json()["batch"], 3);
  EXPECT_EQ(RunJson({"inspect", "mlp"}).json()["parameters"], 586);
}

TEST_F(CaptureCommand, BadRequestsAreNamed) {
  const auto error = [&](const std::vector<std::string>& line) {
    return RunJson(line).json()["error"];
  };
  const Json model = error({"capture", "bert-bas"});
  EXPECT_EQ(model["code"], "unknown-name");
  EXPECT_THAT(model["message"].get<std::string>(), HasSubstr("did you mean bert-base"));
  EXPECT_THAT(error({"plan", "bert-bas", "-c", "2xV100"})["message"].get<std::string>(),
              HasSubstr("there is no file \"bert-bas\", and there is no model"));
  EXPECT_EQ(error({"capture", "mlp@mars"})["code"], "unknown-name");
  EXPECT_THAT(error({"capture", "mlp", "--param", "layer=3"})["message"].get<std::string>(),
              HasSubstr("did you mean layers"));
  EXPECT_EQ(error({"capture", "mlp", "--param", "layers=0"})["code"], "field");
  EXPECT_EQ(error({"capture", "mlp", "--param", "layers=1.5"})["code"], "field");
  EXPECT_EQ(error({"capture", "mlp", "--param", "layers=nan"})["code"], "field");
  EXPECT_EQ(error({"capture", "mlp", "--param", "layers"})["code"], "usage");
  EXPECT_EQ(error({"capture", "mlp", "--train", "adma"})["code"], "usage");
  EXPECT_EQ(error({"capture", "bert-base", "--param", "heads=7"})["code"], "field");
  EXPECT_EQ(error({"capture", "mlp", "-o", "no/such/folder/x.json"})["code"], "file-unwritable");
}

TEST_F(CaptureCommand, TheZooListsAllModels) {
  const Json zoo = RunJson({"zoo"}).json();
  EXPECT_EQ(zoo["schema"], "placewright.zoo/1");
  bool found = false;
  for (const Json& model : zoo["models"]) {
    EXPECT_GT(model["ops"], 0) << model["name"];
    EXPECT_GT(model["one_device_peak_bytes"], model["persistent_bytes"]) << model["name"];
    if (model["name"] != "bert-base") continue;
    found = true;
    EXPECT_EQ(model["parameters"], 108'893'186);
  }
  EXPECT_TRUE(found);
  // Completion knows them without the library.
  const std::string completion = Run({"completion", "bash"}).out;
  std::string names;
  for (const Json& model : zoo["models"]) names += model["name"].get<std::string>() + " ";
  names.pop_back();
  EXPECT_THAT(completion, HasSubstr("-W '" + names + "'"));
  // A name with a dot is no file's.
  int dotted = 0;
  for (const Json& model : zoo["models"]) {
    const std::string name = model["name"];
    if (name.find('.') == std::string::npos) continue;
    ++dotted;
    EXPECT_EQ(Run({"capture", name, "--param", "layers=1", "-o", "one.json"}).status, 0) << name;
  }
  EXPECT_GT(dotted, 0);
  const Json one = RunJson({"zoo", "bert-base"}).json();
  EXPECT_EQ(one["schema"], "placewright.zoo-model/1");
  EXPECT_EQ(one["parameters"][0]["name"], "batch");
}

#endif  // PLACEWRIGHT_HAS_TORCH

}  // namespace
}  // namespace placewright
