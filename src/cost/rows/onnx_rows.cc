// ONNX operators.
#include "cost/rows/rules.h"

namespace placewright {
namespace {

using enum OpClass;

constexpr WorkRow kOnnxRows[] = {
    {"BitCast Flatten Identity Reshape Squeeze Unsqueeze", kView, Nothing},
    {"Attention", kGemm, AttentionForward},
    {"Einsum", kGemm, OnnxEinsum},
    {"Gemm", kGemm, OnnxGemm},
    {"MatMul", kGemm, MatrixProduct},
    {"MatMulInteger QLinearMatMul", kGemm, UncountedProduct},
    {"Conv", kConvDense, OnnxConvolution},
    {"ConvInteger DeformConv QLinearConv", kConvDense, UncountedConvolution},
    {"ConvTranspose", kConvDense, OnnxConvTranspose},
    {"RNN", kRecurrent, OnnxRecurrent, 1},
    {"GRU", kRecurrent, OnnxRecurrent, 3},
    {"LSTM", kRecurrent, OnnxRecurrent, 4},
    {"GroupNormalization Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax "
     "LpNormalization MeanVarianceNormalization RMSNormalization Softmax",
     kNormalization, Streaming, kTranscendental},
    {"BatchNormalization", kNormalization, BatchNorm, kDivide},
    {"GlobalAveragePool GlobalLpPool GlobalMaxPool MaxRoiPool MaxUnpool", kPooling, Streaming,
     kCheap},
    {"GridSample RoiAlign", kPooling, Streaming, kDivide},
    {"AveragePool LpPool MaxPool", kPooling, Pooling, kCheap},
    {"ArgMax ArgMin ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare",
     kReduction, Streaming, kCheap},
    {"NegativeLogLikelihoodLoss ReduceLogSum ReduceLogSumExp SoftmaxCrossEntropyLoss", kReduction,
     Streaming, kTranscendental},
    {"CumProd CumSum TopK", kReduction, Streaming, kCheap, 2},
    {"NonMaxSuppression Unique", kReduction, Streaming, kCheap, 8},
    {"Abs Add And Binarizer BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Clip "
     "DequantizeLinear Dropout DynamicQuantizeLinear Equal Floor Greater GreaterOrEqual IsInf "
     "IsNaN LeakyRelu Less LessOrEqual Max Mean Min Mul Neg Not Or PRelu QuantizeLinear Relu Round "
     "Shrink Sign Sub Sum ThresholdedRelu Where Xor",
     kElementwise, Streaming, kCheap},
    {"Affine Div HardSigmoid HardSwish ImageScaler Mod ParametricSoftplus Reciprocal ScaledTanh "
     "Softsign Sqrt",
     kElementwise, Streaming, kDivide},
    {"Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu Log Mish Pow Selu Sigmoid "
     "Sin Sinh Softplus Swish Tan Tanh",
     kElementwise, Streaming, kTranscendental},
    {"AffineGrid BlackmanWindow Cast CastLike CenterCropPad Col2Im Compress Concat "
     "ConcatFromSequence DepthToSpace Expand EyeLike HammingWindow HannWindow MelWeightMatrix "
     "NonZero OneHot Pad ReverseSequence RotaryEmbedding Scatter ScatterElements ScatterND "
     "SpaceToDepth SplitToSequence TensorScatter Tile Transpose Trilu",
     kDataMovement, Streaming},
    {"Resize Upsample", kDataMovement, Streaming, kDivide},
    {"Crop Gather GatherElements GatherND Slice Split", kDataMovement, Gathering},
    {"Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty "
     "SequenceErase SequenceInsert SequenceLength Shape Size",
     kCreation, Nothing},
    {"Constant ConstantOfShape Range", kCreation, WriteOnly},
    {"Bernoulli Multinomial", kRandom, Streaming, kTranscendental},
    {"RandomNormal RandomNormalLike RandomUniform RandomUniformLike", kRandom, WriteOnly,
     kTranscendental},
    {"If ImageDecoder Loop RegexFullMatch Scan SequenceMap StringConcat StringNormalizer "
     "StringSplit TfIdfVectorizer",
     kOther, ByBytes},
    {"DFT Det STFT", kOther, ByBytes, kCheap},
};

}  // namespace

std::span<const WorkRow> OnnxRows() { return kOnnxRows; }

}  // namespace placewright
