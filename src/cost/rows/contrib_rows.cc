// Operators of the domains com.microsoft and ai.onnx.ml.
#include "cost/rows/rules.h"

namespace placewright {
namespace {

using enum OpClass;

constexpr WorkRow kContribRows[] = {
    {"Attention QAttention", kGemm, ContribAttention},
    {"DecoderMaskedMultiHeadAttention GroupQueryAttention MultiHeadAttention", kGemm,
     AttentionForward},
    {"DynamicQuantizeMatMul FusedGemm FusedMatMul GemmFastGelu GemmFloat8 MatMulInteger16 "
     "MatMulIntegerToFloat MatMulNBits TransposeMatMul",
     kGemm, UncountedProduct},
    {"FusedConv NhwcConv NhwcFusedConv QLinearConv", kConvDense, UncountedConvolution},
    {"BiasSoftmax EmbedLayerNormalization GroupNorm LayerNormalization "
     "SimplifiedLayerNormalization SkipGroupNorm SkipLayerNormalization "
     "SkipSimplifiedLayerNormalization",
     kNormalization, Streaming, kTranscendental},
    {"ArrayFeatureExtractor BiasAdd BiasDropout Binarizer CastMap CategoryMapper DictVectorizer "
     "FeatureVectorizer Imputer LabelEncoder Normalizer OneHotEncoder Scaler ZipMap",
     kElementwise, Streaming, kCheap},
    {"QLinearAdd QLinearAveragePool QLinearConcat QLinearGlobalAveragePool QLinearLeakyRelu "
     "QLinearMul QLinearSigmoid QLinearSoftmax",
     kElementwise, Streaming, kDivide},
    {"BiasGelu BiasSplitGelu FastGelu Gelu QuickGelu", kElementwise, Streaming, kTranscendental},
    {"CropAndResize ExpandDims GatherND Pad RotaryEmbedding Trilu Unique", kDataMovement,
     Streaming},
    {"BeamSearch GreedySearch LinearClassifier LinearRegressor SVMClassifier SVMRegressor Sampling "
     "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
     kOther, ByBytes},
};

}  // namespace

std::span<const WorkRow> ContribRows() { return kContribRows; }

}  // namespace placewright
