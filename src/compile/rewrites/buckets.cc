#include "compile/rewrites/buckets.h"

#include <algorithm>

#include "plan/step_switches.h"

namespace placewright {
namespace {

bool Joins(const SumBucket& bucket, const GradientSum& one, Bytes limit) {
  const GradientSum& first = bucket.sums.front();
  if (bucket.bytes + one.bytes > limit) return false;
  if (first.devices.size() != one.devices.size() || first.dtype != one.dtype) return false;
  return std::max(bucket.ready, one.ready) < std::min(bucket.at, one.first);
}

// The devices of all members must be in the same order for buckets to be made member by member.
void KeepOneOrder(SumBucket& bucket) {
  const std::vector<DeviceId> devices = bucket.sums.front().devices;
  std::erase_if(bucket.sums, [&](const GradientSum& one) { return one.devices != devices; });
  bucket.at = bucket.sums.front().first;
  for (const GradientSum& one : bucket.sums) bucket.at = std::min(bucket.at, one.first);
}

}  // namespace

std::vector<SumBucket> FormBuckets(std::vector<GradientSum> sums, Bytes limit) {
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.ready < b.ready; });
  std::vector<SumBucket> buckets;
  for (GradientSum& one : sums) {
    const auto begin =
        limit == kAllTogether || buckets.empty() ? buckets.begin() : buckets.end() - 1;
    const auto joined = std::find_if(
        begin, buckets.end(), [&](const SumBucket& bucket) { return Joins(bucket, one, limit); });
    if (joined == buckets.end()) {
      buckets.push_back({{one}, one.first, one.ready, one.bytes});
      continue;
    }
    SumBucket& bucket = *joined;
    bucket.at = std::min(bucket.at, one.first);
    bucket.ready = std::max(bucket.ready, one.ready);
    bucket.bytes += one.bytes;
    bucket.sums.push_back(std::move(one));
  }
  const auto is_one = [](const SumBucket& bucket) { return bucket.sums.size() < 2; };
  std::erase_if(buckets, is_one);
  for (SumBucket& bucket : buckets) KeepOneOrder(bucket);
  std::erase_if(buckets, is_one);
  return buckets;
}

}  // namespace placewright
