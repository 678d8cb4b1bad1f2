// What is no graph, but a model that a step can be recorded of: the error has the command.
#include <gmock/gmock.h>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Unrecorded : public ProgramTest {
 protected:
  // Of all commands that take a graph or a model.
  Json ErrorOf(const std::string& graph) {
    const Json plan = RunJson({"plan", graph, "-c", "2xV100"}).json()["error"];
    for (const char* command : {"capture", "inspect"}) {
      const Outcome run = RunJson({command, graph});
      EXPECT_NE(run.status, 0) << graph;
      EXPECT_EQ(run.json()["error"]["remedy"], plan["remedy"]) << command;
    }
    return plan;
  }
  std::string RemedyOf(const std::string& graph) {
    const Json error = ErrorOf(graph);
    message_ = error["message"];
    return error["remedy"];
  }

  std::string message_;
};

TEST_F(Unrecorded, AProgramNamesTheExporter) {
  Write("net.py", "import torch\n\ndef build(size=4):\n  pass\n");
  const std::string remedy = RemedyOf("net.py");
  EXPECT_THAT(message_, HasSubstr("a program in Python"));
  EXPECT_THAT(remedy,
              AllOf(HasSubstr("python3 "), HasSubstr("/placewright_export.py net.py:build"),
                    HasSubstr("-o net.step.json.gz, then placewright plan net.step.json.gz"),
                    Not(HasSubstr("needs"))));
  // As the exporter is called, with a function of another name.
  EXPECT_THAT(RemedyOf("net.py:small"),
              AllOf(HasSubstr("net.py:small -o"), HasSubstr("net.py needs a function")));
  Write("my net.py", "def make(): pass\n");
  EXPECT_THAT(RemedyOf("my net.py"),
              AllOf(HasSubstr("'my net.py:build' -o 'my net.step.json.gz'"),
                    HasSubstr("my net.py needs a function build() that returns model")));
  EXPECT_EQ(ErrorOf("missing.py")["code"], "file-unreadable");
}

TEST_F(Unrecorded, WeightsNameTheConfigurationBesideThem) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const std::string length(1, static_cast<char>(header.size()));
  Write("model.safetensors", length + std::string(7, '\0') + header + std::string(4, '\0'));
  Write("state.pt", std::string("\x80\x02}q.", 5));
  Write("tiny.gguf", "GGUF and more");
  Write("model.safetensors.index.json",
        R"({"metadata": {}, "weight_map": {"w": "a.safetensors"}})");
  for (const char* file : {"model.safetensors", "tiny.gguf", "model.safetensors.index.json"}) {
    EXPECT_THAT(RemedyOf(file), HasSubstr("/placewright_export.py train.py:build -o ")) << file;
  }
  EXPECT_THAT(RemedyOf("model.safetensors"), HasSubstr("-o model.step.json.gz"));
  EXPECT_THAT(message_, HasSubstr("these are weights (safetensors)"));
  EXPECT_THAT(RemedyOf("state.pt"),
              AllOf(HasSubstr("train.py:build"), HasSubstr("torch.jit.save")));
  Write("config.json", R"({"model_type": "llama"})");
  for (const char* file : {"model.safetensors", "state.pt", "tiny.gguf"}) {
    EXPECT_THAT(RemedyOf(file), HasSubstr("placewright plan hf:. -c CLUSTER")) << file;
  }
  EXPECT_THAT(RemedyOf("./model.safetensors"), HasSubstr("placewright plan hf:. -c"));
}

TEST_F(Unrecorded, AConfigurationIsGivenWithItsPrefix) {
  Write("tiny/config.json", R"({"model_type": "llama"})");
  Write("other/config.json", R"({"hidden": 3})");
  for (const char* path : {"tiny", "./tiny", "tiny/config.json"}) {
    EXPECT_THAT(RemedyOf(path), HasSubstr(std::string("placewright plan hf:") + path + " -c "));
  }
  EXPECT_THAT(message_, HasSubstr("the configuration of a model of transformers"));
  EXPECT_THAT(ErrorOf("./other")["remedy"].get<std::string>(), Not(HasSubstr("hf:")));
  EXPECT_THAT(ErrorOf("other/config.json")["remedy"].get<std::string>(), Not(HasSubstr("hf:")));
  Write("adapter/adapter_config.json", R"({"peft_type": "LORA"})");
  EXPECT_THAT(RemedyOf("./adapter"), HasSubstr("train.py:build -o adapter.step.json.gz"));
  Write("book.ipynb", R"({"cells": []})");
  EXPECT_THAT(RemedyOf("book.ipynb"), AllOf(HasSubstr("sys.path.append("),
                                            HasSubstr("\"book.step.json.gz\", targets=targets)")));
}

TEST_F(Unrecorded, ANameOfTheHubIsNotFetched) {
  for (const char* name :
       {"meta-llama/Llama-3-8B", "https://huggingface.co/meta-llama/Llama-3-8B/"}) {
    EXPECT_THAT(RemedyOf(name),
                HasSubstr("hf download meta-llama/Llama-3-8B config.json --local-dir Llama-3-8B && "
                          "placewright plan hf:Llama-3-8B -c CLUSTER"));
    EXPECT_THAT(message_, HasSubstr("are not fetched"));
  }
  // These were meant as files.
  Write("nets/a.onnx", "");
  for (const char* name : {"nets/b", "models/net.onnx", "a/b/c", "../net", "/tmp/none"}) {
    EXPECT_THAT(RemedyOf(name), Not(HasSubstr("hf "))) << name;
  }
}

}  // namespace
}  // namespace placewright
