#include "capture/script/script_source.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "aten/dtype_names.h"
#include "aten/failure.h"
#include "base/text.h"

namespace placewright {
namespace {

bool TakesTensor(const c10::Argument& argument) {
  return argument.type()->isSubtypeOf(*c10::TensorType::get()) ||
         c10::TensorType::get()->isSubtypeOf(*argument.type());
}

bool MayBeLeftOut(const c10::Argument& argument) {
  return argument.default_value().has_value() ||
         argument.type()->kind() == c10::TypeKind::OptionalType;
}

// "x: Tensor, mask: Optional[Tensor]" without self.
std::string Signature(const std::vector<c10::Argument>& arguments) {
  std::vector<std::string> texts;
  for (size_t i = 1; i < arguments.size(); ++i) {
    texts.push_back(Printable(arguments[i].name(), 80) + ": " + arguments[i].type()->str());
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// "--input x=f32[B,SIZES] --input ids=..." for all that need one.
std::string OptionsFor(const std::vector<c10::Argument>& arguments) {
  std::string text;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (MayBeLeftOut(arguments[i]) || !TakesTensor(arguments[i])) continue;
    text += fmt::format(" --input '{}=f32[B,SIZES]'", Printable(arguments[i].name(), 80));
  }
  return text.empty() ? "Give no --input."
                      : "Give" + text + " (or i64[...]<N for indices) --batch N.";
}

Error BadInputs(const std::vector<c10::Argument>& arguments, std::string reason) {
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{}; forward takes ({})", std::move(reason), Signature(arguments)),
                   "", OptionsFor(arguments));
}

c10::ScalarType TypeOf(DType dtype) {
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (DTypeOf(type) == dtype) return type;
  }
  return c10::ScalarType::Float;
}

// By argument, self among them: its input, or nullptr.
Result<std::vector<const ModelInput*>> Match(const std::vector<c10::Argument>& arguments,
                                             const std::vector<ModelInput>& inputs) {
  std::vector<const ModelInput*> matched(arguments.size(), nullptr);
  for (const ModelInput& input : inputs) {
    if (input.name.empty()) continue;
    const auto it = std::find_if(arguments.begin() + 1, arguments.end(),
                                 [&](const c10::Argument& a) { return a.name() == input.name; });
    if (it == arguments.end()) {
      return BadInputs(arguments,
                       fmt::format("--input {}: there is no argument \"{}\"",
                                   Printable(ToString(input), 80), Printable(input.name, 80)));
    }
    const ModelInput*& place = matched[static_cast<size_t>(it - arguments.begin())];
    if (place != nullptr) {
      return BadInputs(arguments, fmt::format("\"{}\" is given twice", Printable(input.name, 80)));
    }
    place = &input;
  }
  for (const ModelInput& input : inputs) {
    if (!input.name.empty()) continue;
    size_t i = 1;
    while (i < arguments.size() && (matched[i] != nullptr || !TakesTensor(arguments[i]))) ++i;
    if (i == arguments.size()) {
      return BadInputs(arguments, fmt::format("--input {}: there is no argument left for it",
                                              Printable(ToString(input), 80)));
    }
    matched[i] = &input;
  }
  return matched;
}

Result<ScriptArgument> MakeArgument(const std::vector<c10::Argument>& arguments, size_t i,
                                    const ModelInput* input) {
  const c10::Argument& declared = arguments[i];
  ScriptArgument argument;
  argument.name = declared.name();
  if (input != nullptr) {
    if (!TakesTensor(declared)) {
      return BadInputs(arguments,
                       fmt::format("\"{}\" takes no tensor", Printable(declared.name(), 80)));
    }
    argument.given = true;
    argument.type = TypeOf(input->dtype);
    argument.below = input->below;
    return argument;
  }
  if (!MayBeLeftOut(declared)) {
    const std::string name = Printable(declared.name(), 80);
    if (TakesTensor(declared)) {
      return BadInputs(arguments, fmt::format("the input \"{}\" is not given", name));
    }
    Error error = BadInputs(arguments, fmt::format("\"{}\" is no tensor and has no default", name));
    error.remedy = "Wrap the module in one whose forward function takes tensors, and save that.";
    return error;
  }
  if (declared.default_value()) argument.otherwise = *declared.default_value();
  return argument;
}

bool IsHere(const std::string& device) {
  const size_t colon = device.find(':');
  if (device.substr(0, colon) != "cuda") return false;
  int index = 0;
  if (colon != device.npos) {
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
  }
  return index < at::detail::getCUDAHooks().getNumGPUs();
}

}  // namespace

Result<ScriptSource> ScriptSource::Create(const CaptureRequest& request) {
  ScriptSource source;
  source.name_ = std::filesystem::path(request.model).stem().string();
  source.file_ = {request.model, request.weights};
  source.loss_ = request.loss;
  std::optional<int64_t> asked;
  if (const auto it = request.values.find("batch"); it != request.values.end()) {
    asked = static_cast<int64_t>(it->second);
  }
  std::vector<c10::Argument> arguments;
  PW_RETURN_IF_ERROR(CatchFailure([&] {
                       const LoadedScript loaded = LoadScript(source.file_, true);
                       source.devices_ = loaded.devices;
                       const auto forward = loaded.module.find_method("forward");
                       if (!forward) {
                         throw TorchFailure(MakeError(ErrorCode::kNotRecordable,
                                                      "the module has no forward function"));
                       }
                       arguments = forward->function().getSchema().arguments();
                     }).InFile(request.model));
  PW_ASSIGN(const std::vector<const ModelInput*> inputs,
            Match(arguments, request.inputs).InFile(request.model));
  for (size_t i = 1; i < arguments.size(); ++i) {
    PW_ASSIGN(ScriptArgument argument, MakeArgument(arguments, i, inputs[i]).InFile(request.model));
    source.given_.push_back({std::move(argument), inputs[i] ? *inputs[i] : ModelInput{}});
    source.any_has_batch_ |= inputs[i] != nullptr && inputs[i]->HasBatch();
  }
  PW_ASSIGN(source.batch_, BatchOf(request.inputs, asked));
  return source;
}

std::vector<std::string> ScriptSource::Notes() const {
  std::vector<std::string> missing;
  for (const std::string& device : devices_) {
    if (!IsHere(device)) missing.push_back(Printable(device, 80));
  }
  if (missing.empty()) return {};
  return {fmt::format(
      "the module names {}, which {} not here: it is recorded as if on one device, since "
      "the plan decides where each op runs",
      fmt::join(missing, " and "), missing.size() == 1 ? "is" : "are")};
}

std::shared_ptr<Model> ScriptSource::Build(int64_t batch) const {
  const CallHandler* handler = CurrentHandler();
  std::vector<ScriptArgument> arguments;
  for (const Given& given : given_) {
    arguments.push_back(given.argument);
    arguments.back().sizes = SizesAt(given.input, any_has_batch_, batch);
  }
  LoadedScript loaded = LoadScript(file_, handler != nullptr && handler->OnMeta());
  return std::make_shared<ScriptModel>(std::move(loaded.module), std::move(arguments), loss_);
}

}  // namespace placewright
