// Sequence-to-sequence placers with attention: a bidirectional LSTM encodes the units, an LSTM
// decodes a device for each from the device before it.
//
// * Segment by segment (Mars sec. 3.3, Fig. 6): each segment is encoded from the encoder's last
//   state of the segment before, in both directions, and decoded from its own. Only the encoder
//   carries anything across segments (as in Fig. 6), so all segments decode side by side; the
//   decoder of a segment begins with the token "no device". A segment of 0 units: the whole
//   sequence is one.
// * Attention before the decoder's LSTM (EAGLE Fig. 4a) or after it (Fig. 4b, as in the
//   Hierarchical Planner), over the encoder's outputs of the segment.
//
// Deviations: the decoder also reads the encoder's output of the unit that it places (`aligned`;
// without, attention has to find it first). Where `switches` is positive, the logits have a term of
// the device before: a preference for it that alone would change the device so many times along the
// sequence, and what is learned beside it. Neighbours then share devices from the first sample on,
// and a change of one decision moves those behind it, too. An unpublished width of attention: 128.
#ifndef PLACEWRIGHT_LEARN_PLACER_SEQ2SEQ_H_
#define PLACEWRIGHT_LEARN_PLACER_SEQ2SEQ_H_

#include <string>

#include "learn/nn/attention_decoder.h"
#include "learn/nn/lstm.h"
#include "learn/nn/parameters.h"
#include "learn/placer/placer_net.h"

namespace placewright {

struct Seq2SeqOptions {
  enum class Attention { kBefore, kAfter };
  Attention attention = Attention::kBefore;
  int64_t segment = 128;  // units; 0: all
  int64_t width = 512;    // of the decoder; each direction of the encoder has half
  int64_t attention_width = 128;
  bool aligned = true;
  double switches = 0;
  double logit_bound = 0;  // c of c tanh(logit) (the Hierarchical Planner's); 0: none
};

class Seq2SeqPlacer : public PlacerNet {
 public:
  // `inputs`: width of the embeddings. Options: widths even and positive.
  Seq2SeqPlacer(int64_t inputs, int64_t devices, const Seq2SeqOptions& options,
                const std::string& name, Parameters& parameters);

  at::Tensor Sample(const PlacerInputs& inputs, const at::Tensor& noise) const override;
  at::Tensor Logits(const PlacerInputs& inputs, const at::Tensor& devices) const override;

 private:
  // The sequences cut into S = B * segments pieces of L steps, padded at the end.
  struct Encoded {
    AttentionMemory memory;
    LstmState start;   // [S, width]
    at::Tensor gates;  // [L, S, 4 width]: what the decoder's LSTM gets but for the device before
    int64_t segments = 1, units = 0;
  };

  Encoded Encode(const at::Tensor& embeddings) const;
  // [S repeats, L] <-> [B, repeats, N].
  at::Tensor ToSegments(const Encoded& encoded, const at::Tensor& by_sequence) const;
  at::Tensor FromSegments(const Encoded& encoded, const at::Tensor& by_segment) const;
  AttentionDecoderWeights decoder() const { return {recurrent_, query_}; }
  // `previous`: the device before.
  at::Tensor Score(const Encoded& encoded, const at::Tensor& h, const at::Tensor& context,
                   const at::Tensor& previous) const;

  const Seq2SeqOptions options_;
  const int64_t devices_;
  LstmWeights forward_, backward_;  // of the encoder
  at::Tensor keys_, query_, scores_;
  at::Tensor aligned_, bias_;  // [4 width, width], [4 width]
  at::Tensor before_;          // [devices + 1, 4 width]: the device before; the last: none
  at::Tensor recurrent_;
  at::Tensor output_, output_bias_;  // [devices, width or 2 width], [devices]
  at::Tensor transitions_;           // [devices + 1, devices]; undefined without `switches`
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLACER_SEQ2SEQ_H_
