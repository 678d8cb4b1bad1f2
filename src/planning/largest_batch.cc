#include "planning/largest_batch.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace placewright {

std::string_view ToString(BatchVerdict verdict) {
  switch (verdict) {
    case BatchVerdict::kFits: return "fits";
    case BatchVerdict::kProvenNot: return "proven-not";
    case BatchVerdict::kNotFound: return "not-found";
    case BatchVerdict::kNotPossible: return "not-possible";
  }
  return "not-found";
}

const BatchTrial* LargestBatch::Above() const {
  const BatchTrial* above = nullptr;
  for (const BatchTrial& trial : trials) {
    if (trial.batch <= batch) continue;
    if (above == nullptr || trial.batch < above->batch) above = &trial;
  }
  return above;
}

Result<LargestBatch> FindLargestBatch(int64_t start, int64_t max,
                                      const std::function<Result<BatchTrial>(int64_t batch)>& trial,
                                      const StopToken& stop) {
  LargestBatch found;
  int64_t over = max + 1;  // does not fit
  int64_t batch = std::min(start, max);
  while (over - found.batch > 1) {
    if (stop.StopRequested()) {
      found.interrupted = true;
      return found;
    }
    PW_ASSIGN(BatchTrial made, trial(batch));
    (made.verdict == BatchVerdict::kFits ? found.batch : over) = batch;
    found.trials.push_back(std::move(made));
    if (over > max) {
      batch = std::min(max, 2 * batch);
    } else if (found.batch == 0) {
      batch = std::max<int64_t>(1, batch / 2);
    } else {
      batch = found.batch + (over - found.batch) / 2;
    }
  }
  return found;
}

Result<std::vector<BatchRate>> FindBatchRates(
    const LargestBatch& found, int64_t devices,
    const std::function<Result<std::optional<BatchRate>>(int64_t batch)>& rate,
    const StopToken& stop) {
  std::set<int64_t, std::greater<>> batches = {found.batch};
  if (devices > 0 && found.batch >= devices) batches.insert(found.batch / devices * devices);
  for (const BatchTrial& trial : found.trials) {
    if (trial.verdict == BatchVerdict::kFits) batches.insert(trial.batch);
  }
  std::vector<BatchRate> rates;
  int in_vain = 0;
  for (const int64_t batch : batches) {
    if (in_vain == 2 || stop.StopRequested()) break;
    PW_ASSIGN(std::optional<BatchRate> made, rate(batch));
    if (!made) continue;
    const bool faster =
        rates.empty() || made->samples_per_second > BestRate(rates).samples_per_second;
    in_vain = faster ? 0 : in_vain + 1;
    rates.push_back(*std::move(made));
  }
  return rates;
}

const BatchRate& BestRate(const std::vector<BatchRate>& rates) {
  return *std::min_element(rates.begin(), rates.end(), [](const BatchRate& a, const BatchRate& b) {
    if (a.samples_per_second != b.samples_per_second) {
      return a.samples_per_second > b.samples_per_second;
    }
    return a.batch < b.batch;
  });
}

}  // namespace placewright
