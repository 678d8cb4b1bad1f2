#include "bench/costs/published.h"

#include <array>

namespace placewright::bench {
namespace {

// TF17: TensorFlow's benchmarks page of 2017 (P100: DGX-1; K80: Google Compute Engine).
// TF111: TensorFlow 1.11 on an RTX 2080.
// LL19: Lambda Labs, RTX 2080 Ti benchmarks of 4 March 2019; it states no batch sizes, those here
// are the largest of 64, 32, 16 that fit the smallest of its GPUs. Its VGG-16, AlexNet and SSD300
// are left out (docs/costs.md).
constexpr std::string_view kResNet = "fx/resnet50_b32_sgd.json.gz",
                           kVgg = "fx/vgg19_b96_sgd.json.gz", kAlex = "fx/alexnet_b4_sgd.json.gz";
// DLE: NVIDIA DeepLearningExamples, BERT for TensorFlow, container 19.08, V100 16 GB, inference of
// BERT-Base with sequences of 384 (`images` are sequences).
constexpr std::string_view kBert = "onnx/bert_base_qa_b24_s384.onnx";
constexpr bool kFit = true, kHeldOut = false;

constexpr std::array kRows = {
    PublishedRow{"P100-SXM2-16GB", "resnet50", 32, 195, kHeldOut, "TF17", kResNet, 32},
    PublishedRow{"P100-SXM2-16GB", "resnet50", 64, 219, kFit, "TF17", kResNet, 32},
    PublishedRow{"K80", "resnet50", 32, 49.5, kHeldOut, "TF17", kResNet, 32},
    PublishedRow{"RTX-2080", "resnet50", 32, 178, kHeldOut, "TF111", kResNet, 32},
    PublishedRow{"RTX-2080", "vgg19", 64, 111, kHeldOut, "TF111", kVgg, 96},
    PublishedRow{"K80", "resnet50", 64, 51.9, kFit, "TF17", kResNet, 32},
    PublishedRow{"P100-SXM2-16GB", "alexnet", 512, 2987, kFit, "TF17", kAlex, 4},
    PublishedRow{"K80", "alexnet", 512, 656, kHeldOut, "TF17", kAlex, 4},
    PublishedRow{"P100-SXM2-16GB", "inception3", 32, 128, kHeldOut, "TF17"},
    PublishedRow{"P100-SXM2-16GB", "inception3", 64, 142, kFit, "TF17"},
    PublishedRow{"P100-SXM2-16GB", "resnet152", 32, 82.7, kHeldOut, "TF17"},
    PublishedRow{"P100-SXM2-16GB", "resnet152", 64, 91.8, kHeldOut, "TF17"},
    PublishedRow{"P100-SXM2-16GB", "vgg16", 32, 144, kHeldOut, "TF17"},
    PublishedRow{"P100-SXM2-16GB", "vgg16", 64, 154, kFit, "TF17"},
    PublishedRow{"K80", "inception3", 32, 29.3, kHeldOut, "TF17"},
    PublishedRow{"K80", "inception3", 64, 30.5, kHeldOut, "TF17"},
    PublishedRow{"K80", "resnet152", 32, 20.0, kHeldOut, "TF17"},
    PublishedRow{"K80", "vgg16", 32, 35.4, kHeldOut, "TF17"},
    PublishedRow{"RTX-2080", "resnet50", 64, 213, kFit, "LL19"},
    PublishedRow{"RTX-2080", "resnet152", 32, 83, kHeldOut, "LL19"},
    PublishedRow{"RTX-2080", "inception3", 64, 142, kHeldOut, "LL19"},
    PublishedRow{"RTX-2080", "inception4", 16, 56, kHeldOut, "LL19"},
    PublishedRow{"V100-32GB", "resnet50", 64, 405, kFit, "LL19"},
    PublishedRow{"V100-32GB", "resnet152", 32, 155, kHeldOut, "LL19"},
    PublishedRow{"V100-32GB", "inception3", 64, 259, kHeldOut, "LL19"},
    PublishedRow{"V100-32GB", "inception4", 16, 112, kHeldOut, "LL19"},
    PublishedRow{"GTX-1080Ti", "resnet50", 64, 209, kHeldOut, "LL19"},
    PublishedRow{"GTX-1080Ti", "resnet152", 32, 81, kHeldOut, "LL19"},
    PublishedRow{"GTX-1080Ti", "inception3", 64, 136, kHeldOut, "LL19"},
    PublishedRow{"GTX-1080Ti", "inception4", 16, 58, kHeldOut, "LL19"},
    PublishedRow{"V100-16GB", "bert-base forward", 8, 107.13, kFit, "DLE", kBert, 24},
    PublishedRow{"V100-16GB", "bert-base forward", 4, 104.43, kHeldOut, "DLE", kBert, 24},
    PublishedRow{"V100-16GB", "bert-base forward", 2, 94.59, kHeldOut, "DLE", kBert, 24},
    PublishedRow{"V100-16GB", "bert-base forward", 1, 77.55, kHeldOut, "DLE", kBert, 24},
};

}  // namespace

std::span<const PublishedRow> PublishedRows() { return kRows; }

}  // namespace placewright::bench
