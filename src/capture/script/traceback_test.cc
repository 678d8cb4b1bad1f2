#include "capture/script/traceback.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

const std::string kSerialized = R"(The following operation failed in the TorchScript interpreter.
Traceback of TorchScript, serialized code (most recent call last):
  File "code/__torch__.py", line 12, in forward
    fc = self.fc
    return (fc).forward(x, )
            ~~~~~~~~~~~ <--- HERE
  File "code/__torch__/torch/nn/modules/linear.py", line 14, in forward
    bias = self.bias
    return torch.linear(input, weight, bias)
           ~~~~~~~~~~~~ <--- HERE
)";
const std::string kMessage = "RuntimeError: mat1 and mat2 do not fit\n";

TEST(Traceback, NamesTheLineOfThePythonFile) {
  const std::string text = kSerialized + R"(
Traceback of TorchScript, original code (most recent call last):
  File "nets/mine.py", line 16, in forward
    def forward(self, x):
        return self.fc(x)
               ~~~~~~~ <--- HERE
  File "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", line 114, in forward
    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)
               ~~~~~~~~ <--- HERE
)" + kMessage;
  EXPECT_EQ(PlaceInCode(text), "nets/mine.py line 16: return self.fc(x)");
  EXPECT_EQ(RaisedMessage(text), "mat1 and mat2 do not fit");
}

// The innermost comes first there, and without code.
TEST(Traceback, TracedModulesRememberLines) {
  const std::string text = kSerialized + R"(
Traceback of TorchScript, original code (most recent call last):
/usr/lib/python3/dist-packages/torch/nn/modules/linear.py(114): forward
/usr/lib/python3/dist-packages/torch/nn/modules/module.py(1194): _call_impl
/home/me (x)/mine.py(16): forward
/usr/lib/python3/dist-packages/torch/jit/_trace.py(759): trace
/home/me (x)/mine.py(47): <module>
)" + kMessage;
  EXPECT_EQ(PlaceInCode(text), "/home/me (x)/mine.py line 16");
}

TEST(Traceback, WithoutThemItIsTheLineInTheModule) {
  EXPECT_EQ(PlaceInCode(kSerialized + kMessage),
            "code/__torch__.py line 12: return (fc).forward(x, )");
}

TEST(Traceback, PyTorchsOwnLineWhereThereIsNoOther) {
  const std::string text = R"(
  File "code/__torch__/torch/nn/modules/linear.py", line 14, in forward
    return torch.linear(input, weight, bias)
           ~~~~~~~~~~~~ <--- HERE
)";
  EXPECT_EQ(PlaceInCode(text),
            "code/__torch__/torch/nn/modules/linear.py line 14: return torch.linear(input, weight, "
            "bias)");
}

TEST(Traceback, WhatCodeRaisesKeepsItsType) {
  EXPECT_EQ(RaisedMessage(kSerialized + "RuntimeError: AssertionError: odd batches only\n"),
            "AssertionError: odd batches only");
}

TEST(Traceback, AnyTextWillDo) {
  for (const char* text :
       {"", "\n", "File \"", "  File \"a\", line ", "  File \"a\", line x, in b", "<--- HERE",
        "): ", "(): ", "a(): b", "(1): b", "Error: ", "Traceback of TorchScript, original code"}) {
    EXPECT_EQ(PlaceInCode(text), "") << text;
    RaisedMessage(text);
  }
  EXPECT_EQ(RaisedMessage("stack overflow\nsecond"), "stack overflow");
  EXPECT_EQ(PlaceInCode("  File \"a\x1b[2J\", line 3\n"), "a?[2J line 3");
}

}  // namespace
}  // namespace placewright
