// TensorFlow ops. A type that is not here is costed by its bytes and listed as modelled so.
#include "cost/rows/rules.h"

namespace placewright {
namespace {

using enum OpClass;

constexpr WorkRow kTensorflowRows[] = {
    {"ExpandDims Identity ReadVariableOp Reshape Squeeze StopGradient", kView, Nothing},
    {"BatchMatMul BatchMatMulV2 BatchMatMulV3 MatMul", kGemm, TensorflowProduct},
    {"Conv2D Conv3D", kConvDense, TensorflowConvolution},
    {"Conv2DBackpropInput Conv3DBackpropInputV2", kConvDense, TensorflowConvolution, 1},
    {"Conv2DBackpropFilter Conv3DBackpropFilterV2", kConvDense, TensorflowConvolution, 2},
    {"DepthwiseConv2dNative", kConvDepthwise, TensorflowConvolution},
    {"DepthwiseConv2dNativeBackpropInput", kConvDepthwise, TensorflowConvolution, 1},
    {"DepthwiseConv2dNativeBackpropFilter", kConvDepthwise, TensorflowConvolution, 2},
    {"BlockLSTM BlockLSTMV2 LSTMBlockCell", kRecurrent, TensorflowLstm, 1},
    {"BlockLSTMGrad BlockLSTMGradV2", kRecurrent, TensorflowLstm, 2},
    {"LRN LRNGrad LogSoftmax Softmax SoftmaxCrossEntropyWithLogits "
     "SparseSoftmaxCrossEntropyWithLogits",
     kNormalization, Streaming, kTranscendental},
    {"FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 "
     "FusedBatchNormV3",
     kNormalization, Streaming, kDivide, 2},
    {"AvgPoolGrad MaxPoolGrad", kPooling, Streaming, kCheap},
    {"AvgPool MaxPool", kPooling, Pooling, kCheap},
    {"All Any ArgMax ArgMin BiasAddGrad Max Mean Min Prod Sum UnsortedSegmentSum", kReduction,
     Streaming, kCheap},
    {"L2Loss", kReduction, Streaming, 2 * kCheap},
    {"TopKV2", kReduction, Streaming, kCheap, 2},
    {"Abs Add AddN AddV2 AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp BiasAdd "
     "BiasAddV1 Ceil CheckNumerics ClipByValue EluGrad Equal Floor Greater GreaterEqual LeakyRelu "
     "LeakyReluGrad Less LessEqual LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul Neg "
     "NotEqual Relu Relu6 Relu6Grad ReluGrad Round Select SelectV2 SigmoidGrad Sign Square "
     "SquaredDifference Sub TanhGrad",
     kElementwise, Streaming, kCheap},
    {"ApplyGradientDescent ResourceApplyGradientDescent", kElementwise, Streaming, 2 * kCheap},
    {"ApplyMomentum ResourceApplyKerasMomentum ResourceApplyMomentum", kElementwise, Streaming,
     4 * kCheap},
    {"Div DivNoNan FloorDiv FloorMod RealDiv Reciprocal Rsqrt RsqrtGrad Sqrt SqrtGrad",
     kElementwise, Streaming, kDivide},
    {"ApplyAdagrad ResourceApplyAdagrad", kElementwise, Streaming, 2 * kDivide},
    {"Cos Elu Erf Exp LSTMBlockCellGrad Log Log1p Pow Selu Sigmoid Sin Softplus SoftplusGrad Tanh",
     kElementwise, Streaming, kTranscendental},
    {"ApplyAdadelta ApplyAdam ApplyCenteredRMSProp ApplyFtrl ApplyRMSProp ResourceApplyAdam "
     "ResourceApplyRMSProp",
     kElementwise, Streaming, 3 * kDivide},
    {"Cast Concat ConcatV2 DepthToSpace DynamicStitch MirrorPad OneHot Pack Pad PadV2 "
     "ResizeNearestNeighbor Reverse ReverseV2 SpaceToDepth Split SplitV StridedSliceGrad Tile "
     "Transpose Unpack Where",
     kDataMovement, Streaming},
    {"ResizeNearestNeighborGrad", kDataMovement, Streaming, kCheap},
    {"ResizeBilinear ResizeBilinearGrad", kDataMovement, Streaming, kDivide},
    {"Assign AssignVariableOp", kDataMovement, FromRest},
    {"Gather GatherNd GatherV2 ResourceGather Slice StridedSlice", kDataMovement, Gathering},
    {"BroadcastGradientArgs ConcatOffset ControlTrigger Enter Exit InvertPermutation "
     "IsVariableInitialized LoopCond Merge NextIteration NoOp Rank RefEnter RefExit RefMerge "
     "RefNextIteration RefSwitch Shape ShapeN Size Switch",
     kCreation, Nothing},
    {"Fill OnesLike Range ZerosLike", kCreation, WriteOnly},
    {"Multinomial", kRandom, Streaming, kTranscendental},
    {"RandomStandardNormal RandomUniform TruncatedNormal", kRandom, WriteOnly, kTranscendental},
};

}  // namespace

std::span<const WorkRow> TensorflowRows() { return kTensorflowRows; }

}  // namespace placewright
