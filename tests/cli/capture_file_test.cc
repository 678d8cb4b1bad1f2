// Recording models from files.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CaptureFile : public ProgramTest {
 protected:
  Json ErrorOf(const std::vector<std::string>& line) {
    const Outcome run = RunJson(line);
    EXPECT_NE(run.status, 0) << line.back();
    return run.json()["error"];
  }
};

TEST_F(CaptureFile, FilesThatAreNoModelsAreNamed) {
  const std::string pickle = Write("state.pt", std::string("\x80\x02}q.", 5));
  const Json state = ErrorOf({"capture", pickle});
  EXPECT_EQ(state["code"], "format-unknown");
  EXPECT_THAT(state["message"].get<std::string>(), HasSubstr("holds no code"));
  EXPECT_THAT(state["remedy"].get<std::string>(), HasSubstr("torch.jit.save"));
  EXPECT_THAT(ErrorOf({"plan", pickle, "-c", "2xV100"})["remedy"].get<std::string>(),
              HasSubstr("torch.jit.save"));
  EXPECT_EQ(ErrorOf({"capture", "no/such/net.pt"})["code"], "file-unreadable");
  const Json text = ErrorOf({"capture", Write("notes.pt", "some notes")});
  EXPECT_EQ(text["code"], "format-unknown");
  const Json damaged = ErrorOf({"capture", Write("half.pt", "PK\x03\x04 and no more")});
  EXPECT_EQ(damaged["code"], "file-corrupt");
  const Json graph =
      ErrorOf({"capture", Write("step.json", R"({"inputs": [], "ops": [], "outputs": []})")});
  EXPECT_EQ(graph["code"], "format-unknown");
  EXPECT_THAT(graph["message"].get<std::string>(), HasSubstr("recorded already"));
  EXPECT_THAT(graph["remedy"].get<std::string>(), HasSubstr("placewright plan"));
}

TEST_F(CaptureFile, OptionsBelongToTheirKindOfModel) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--loss", "mean"}, {"--input", "x=[2,3]"}}) {
    const Json error = ErrorOf({"capture", "mlp", more[0], more[1]});
    EXPECT_EQ(error["code"], "usage") << more[0];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(more[0] + " is not for mlp"));
  }
}

#ifdef PLACEWRIGHT_HAS_TORCH

class CaptureScript : public CaptureFile {
 protected:
  void SetUp() override {
    CaptureFile::SetUp();
    const std::string folder = Write("here", "");
    const std::string command =
        std::string(PLACEWRIGHT_SAVE_MODULES) + " " + folder.substr(0, folder.rfind('/'));
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
};

TEST_F(CaptureScript, IsRecordedAndPlanned) {
  const Json recorded = RunJson({"capture", "conv.pt", "--input", "x=f32[B,3,8,8]", "--batch", "4",
                                 "--train", "sgd", "-o", "step.json"})
                            .json();
  EXPECT_EQ(recorded["loss"], "cross-entropy");
  EXPECT_EQ(recorded["batch"], 4);
  // 4 x 3 x 3 x 3 + 4, 2 x 4, 4 x 5 + 5.
  EXPECT_EQ(recorded["parameters"], 112 + 8 + 25);
  // Convolution: 4 images of 8 x 8 x 4 results of 27 products; dense: 4 x 4 x 5.
  EXPECT_EQ(recorded["macs"]["forward"], 4 * 64 * 4 * 27 + 80);
  const Json read = RunJson({"inspect", "step.json"}).json();
  EXPECT_EQ(read["ops"], recorded["ops"]);
  EXPECT_EQ(read["batch"], 4);
  EXPECT_EQ(Run({"plan", "step.json", "-c", "2xV100", "--iterations", "1"}).status, 0);
  // Without -o beside nothing: here, under the file's name.
  EXPECT_EQ(Run({"capture", "conv.pt", "--input", "[4,3,8,8]", "--train", "none"}).status, 0);
  EXPECT_TRUE(Exists("conv.step.json.gz"));
}

TEST_F(CaptureScript, LossesAreChosen) {
  const auto inputs = [&](const std::string& loss) {
    EXPECT_EQ(
        Run({"capture", "conv.pt", "--input", "[4,3,8,8]", "--loss", loss, "-o", "s.json"}).status,
        0)
        << loss;
    return Read("s.json");
  };
  EXPECT_THAT(inputs("cross-entropy"), HasSubstr("nll_loss"));
  EXPECT_THAT(inputs("mean-squared"), HasSubstr("mse_loss"));
  EXPECT_THAT(inputs("mean"), testing::Not(HasSubstr("input:target")));
  EXPECT_EQ(ErrorOf({"capture", "conv.pt", "--input", "[4,3,8,8]", "--loss", "output"})["code"],
            "not-recordable");
  EXPECT_EQ(ErrorOf({"capture", "conv.pt", "--input", "[4,3,8,8]", "--loss", "entropy"})["code"],
            "usage");
  EXPECT_EQ(ErrorOf({"capture", "conv.pt", "--input", "[4,3,8,8]", "--loss", "mean", "--train",
                     "none"})["code"],
            "usage");
}

TEST_F(CaptureScript, WhatCannotBeRecordedIsNamed) {
  const auto error = [&](const std::string& file, const std::string& input,
                         const std::string& code) {
    const Json found = ErrorOf({"capture", file, "--input", input, "-o", "never.json"});
    EXPECT_EQ(found["code"], code) << file;
    EXPECT_EQ(found["file"], file);
    EXPECT_FALSE(found["remedy"].get<std::string>().empty());
    EXPECT_FALSE(Exists("never.json"));
    return found["message"].get<std::string>() + " | " + found["place"].get<std::string>();
  };
  EXPECT_THAT(error("branch.pt", "[2,4]", "data-dependent"),
              AllOf(HasSubstr("op aten::"), HasSubstr("line 3: if bool(y.sum() > 0)")));
  EXPECT_THAT(error("histogram.pt", "[2,4]", "no-shape-function"), HasSubstr("aten::histc"));
  EXPECT_THAT(error("frozen.pt", "[2,3,8,8]", "not-recordable"), HasSubstr("no parameter"));
  EXPECT_THAT(error("endless.pt", "[2,4]", "not-recordable"),
              HasSubstr("1,000,000 loop iterations"));
  EXPECT_THAT(error("conv.pt", "[2,4,8,8]", "not-recordable"), HasSubstr("channels"));
  EXPECT_THAT(error("conv.pt", "y=[2,3,8,8]", "usage"), HasSubstr("forward takes (x: Tensor)"));
  const Json missing = ErrorOf({"capture", "transformer.pt"});
  EXPECT_EQ(missing["code"], "usage");
  EXPECT_THAT(missing["message"].get<std::string>(), HasSubstr("\"ids\" is not given"));
  EXPECT_THAT(missing["remedy"].get<std::string>(), HasSubstr("--input 'ids=f32[B,SIZES]'"));
  EXPECT_EQ(ErrorOf({"capture", "conv.pt", "--param", "layers=3"})["code"], "usage");
}

TEST_F(CaptureScript, CodeThatTakesEverMoreMemoryIsStopped) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need an address space without a limit";
#endif
  RunOptions options;
  options.address_space = uint64_t{3} << 30;
  const Outcome run = RunJson({"capture", "out_of_memory.pt", "--input", "[2,4]"}, options);
  EXPECT_EQ(run.status, 3) << run.err;
  const Json error = run.json()["error"];
  EXPECT_EQ(error["code"], "not-recordable");
  EXPECT_EQ(error["file"], "out_of_memory.pt");
  EXPECT_THAT(error["remedy"].get<std::string>(), HasSubstr("loop"));
}

TEST_F(CaptureScript, CtrlCIsSaid) {
  RunOptions options;
  options.signal = SIGINT;
  options.signal_after = 1;  // it has begun, even where much else runs; the whole takes several
  const Outcome run = RunJson({"capture", "gnmt-8", "-o", "never.json.gz"}, options);
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_EQ(run.json()["error"]["code"], "interrupted");
  EXPECT_FALSE(Exists("never.json.gz"));
}

// Plans decide on devices: one that the code names and that is not here is of no account.
TEST_F(CaptureScript, DevicesOfTheCodeAreOfNoAccount) {
  const Outcome run = Run({"capture", "cuda.pt", "--input", "[2,4]", "-o", "cuda.json"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("note: the module names cuda:3, which is not here"));
  EXPECT_THAT(Read("cuda.json"), testing::Not(HasSubstr("cuda:3")));
}

TEST_F(CaptureScript, AScriptModuleIsNoGraph) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"inspect", "conv.pt"}, {"plan", "conv.pt", "-c", "2xV100"}}) {
    const Json error = ErrorOf(line);
    EXPECT_EQ(error["code"], "format-unknown") << line[0];
    EXPECT_THAT(error["remedy"].get<std::string>(), HasSubstr("placewright capture conv.pt"));
  }
}

TEST_F(CaptureScript, DamagedFilesAreErrors) {
  const std::string bytes = Read("transformer.pt");
  for (size_t at = 0; at < bytes.size(); at += bytes.size() / 20) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    Write("damaged.pt", damaged);
    const Outcome run = Run({"capture", "damaged.pt", "--input", "i64[2,5]", "-o", "d.json"});
    EXPECT_TRUE(run.status == 0 || run.status == 3) << at << ": " << run.err;
  }
}

TEST_F(CaptureScript, CrashesOfLibTorchAreErrors) {
  RunOptions options;
  options.environment = {"PLACEWRIGHT_TORCH_LIBRARY=" PLACEWRIGHT_FAKE_TORCH};
  const std::string crash = Write("crash.pt", Read("conv.pt"));
  const Outcome run = RunJson({"capture", crash, "--input", "[2,3,8,8]"}, options);
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.json()["error"]["code"], "file-corrupt");
  EXPECT_THAT(run.json()["error"]["message"].get<std::string>(), HasSubstr("signal 11"));
}

// A recording of a hundred thousand steps ends by itself.
TEST_F(CaptureFile, StepsOfTooManyOpsAreRefused) {
  const Json error = ErrorOf({"capture", "rnnlm-8", "--param", "steps=10000", "--param", "hidden=8",
                              "--param", "vocabulary=10"});
  EXPECT_EQ(error["code"], "not-recordable");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("500,000 ops"));
}

#endif  // PLACEWRIGHT_HAS_TORCH

}  // namespace
}  // namespace placewright
