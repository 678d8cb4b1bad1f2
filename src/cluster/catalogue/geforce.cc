#include <array>

#include "cluster/catalogue/rows.h"

namespace placewright {
namespace {

// GeForce of the Ampere, Ada and Blackwell generations differ in two figures alone: what their
// cores compute in float (2 x cores x boost clock) and their memory. The rest follows from float:
// double is 1/64 of it, 16-bit products of the tensor cores with float accumulation twice, 8-bit
// products eight times (NVIDIA's GA102, Ada and RTX Blackwell white papers, appendices A).
struct GeForceRow {
  std::string_view name, architecture;
  double float_tera;
  double gb_per_second;
  int64_t gib;
  std::string_view source;
};

// Laptops: at the highest power limit that makers may set; their architectures have rows of their
// own in the efficiency table, because they do not hold that clock.
constexpr std::array kGeForceRows = {
    GeForceRow{"RTX-3060", "ampere", 12.74, 360, 12,
               "NVIDIA GeForce RTX 30 series specifications: 3584 cores at 1777 MHz"},
    GeForceRow{"RTX-3060Ti", "ampere", 16.2, 448, 8,
               "NVIDIA GeForce RTX 30 series specifications: 4864 cores at 1665 MHz"},
    GeForceRow{"RTX-3070", "ampere", 20.31, 448, 8,
               "NVIDIA GeForce RTX 30 series specifications: 5888 cores at 1725 MHz"},
    GeForceRow{"RTX-3070Ti", "ampere", 21.75, 608, 8,
               "NVIDIA GeForce RTX 30 series specifications: 6144 cores at 1770 MHz"},
    GeForceRow{"RTX-3080-10GB", "ampere", 29.77, 760, 10,
               "NVIDIA GeForce RTX 30 series specifications: 8704 cores at 1710 MHz"},
    GeForceRow{"RTX-3080-12GB", "ampere", 30.64, 912, 12,
               "NVIDIA GeForce RTX 30 series specifications: 8960 cores at 1710 MHz"},
    GeForceRow{"RTX-3080Ti", "ampere", 34.1, 912, 12,
               "NVIDIA GeForce RTX 30 series specifications: 10240 cores at 1665 MHz"},
    GeForceRow{"RTX-3090Ti", "ampere", 40, 1008, 24,
               "NVIDIA GeForce RTX 30 series specifications: 10752 cores at 1860 MHz"},
    GeForceRow{"RTX-3050", "ampere", 9.1, 224, 8,
               "NVIDIA GeForce RTX 30 series specifications: 2560 cores at 1777 MHz"},
    GeForceRow{"RTX-4060", "ada", 15.11, 272, 8,
               "NVIDIA GeForce RTX 40 series specifications: 3072 cores at 2460 MHz"},
    GeForceRow{"RTX-4060Ti-8GB", "ada", 22.06, 288, 8,
               "NVIDIA GeForce RTX 40 series specifications: 4352 cores at 2535 MHz"},
    GeForceRow{"RTX-4060Ti-16GB", "ada", 22.06, 288, 16,
               "NVIDIA GeForce RTX 40 series specifications: 4352 cores at 2535 MHz"},
    GeForceRow{"RTX-4070", "ada", 29.15, 504, 12,
               "NVIDIA GeForce RTX 40 series specifications: 5888 cores at 2475 MHz"},
    GeForceRow{"RTX-4070-SUPER", "ada", 35.48, 504, 12,
               "NVIDIA GeForce RTX 40 series specifications: 7168 cores at 2475 MHz"},
    GeForceRow{"RTX-4070Ti", "ada", 40.09, 504, 12,
               "NVIDIA GeForce RTX 40 series specifications: 7680 cores at 2610 MHz"},
    GeForceRow{"RTX-4070Ti-SUPER", "ada", 44.1, 672, 16,
               "NVIDIA GeForce RTX 40 series specifications: 8448 cores at 2610 MHz"},
    GeForceRow{"RTX-4080", "ada", 48.74, 716.8, 16,
               "NVIDIA GeForce RTX 40 series specifications: 9728 cores at 2505 MHz"},
    GeForceRow{"RTX-4080-SUPER", "ada", 52.22, 736, 16,
               "NVIDIA GeForce RTX 40 series specifications: 10240 cores at 2550 MHz"},
    GeForceRow{"RTX-4090D", "ada", 73.54, 1008, 24,
               "NVIDIA GeForce RTX 4090 D specifications: 14592 cores at 2520 MHz"},
    GeForceRow{"RTX-4090-48GB", "ada", 82.6, 1008, 48,
               "RTX 4090 boards rebuilt with 48 GB, as rented; rates of the RTX 4090"},
    GeForceRow{"RTX-4050-Laptop", "ada-laptop", 12.13, 192, 6,
               "NVIDIA GeForce RTX 40 laptops, comparison page: 2560 cores, boost up to 2370 MHz"},
    GeForceRow{"RTX-4060-Laptop", "ada-laptop", 14.56, 256, 8,
               "NVIDIA GeForce RTX 40 laptops, comparison page: 3072 cores, boost up to 2370 MHz"},
    GeForceRow{"RTX-4070-Laptop", "ada-laptop", 20.04, 256, 8,
               "NVIDIA GeForce RTX 40 laptops, comparison page: 4608 cores, boost up to 2175 MHz"},
    GeForceRow{"RTX-4080-Laptop", "ada-laptop", 33.85, 432, 12,
               "NVIDIA GeForce RTX 40 laptops, comparison page: 7424 cores, boost up to 2280 MHz"},
    GeForceRow{"RTX-4090-Laptop", "ada-laptop", 39.69, 576, 16,
               "NVIDIA GeForce RTX 40 laptops, comparison page: 9728 cores, boost up to 2040 MHz"},
    GeForceRow{"RTX-5050", "blackwell", 13.17, 320, 8,
               "NVIDIA GeForce RTX 50 series specifications: 2560 cores at 2572 MHz"},
    GeForceRow{"RTX-5060", "blackwell", 19.18, 448, 8,
               "NVIDIA GeForce RTX 50 series specifications: 3840 cores at 2497 MHz"},
    GeForceRow{"RTX-5060Ti-8GB", "blackwell", 23.7, 448, 8,
               "NVIDIA GeForce RTX 50 series specifications: 4608 cores at 2572 MHz"},
    GeForceRow{"RTX-5060Ti-16GB", "blackwell", 23.7, 448, 16,
               "NVIDIA GeForce RTX 50 series specifications: 4608 cores at 2572 MHz"},
    GeForceRow{"RTX-5070", "blackwell", 30.87, 672, 12,
               "NVIDIA GeForce RTX 50 series specifications: 6144 cores at 2512 MHz"},
    GeForceRow{"RTX-5070Ti", "blackwell", 43.94, 896, 16,
               "NVIDIA GeForce RTX 50 series specifications: 8960 cores at 2452 MHz"},
    GeForceRow{"RTX-5080", "blackwell", 56.28, 960, 16,
               "NVIDIA GeForce RTX 50 series specifications: 10752 cores at 2617 MHz"},
    GeForceRow{"RTX-5090", "blackwell", 104.8, 1792, 32,
               "NVIDIA GeForce RTX 50 series specifications: 21760 cores at 2407 MHz"},
    GeForceRow{
        "RTX-5050-Laptop", "blackwell-laptop", 13.75, 384, 8,
        "NVIDIA GeForce RTX 50 laptops: 440 AI TOPS (4 bits, sparse: 32 times float), 2560 cores"},
    GeForceRow{
        "RTX-5060-Laptop", "blackwell-laptop", 17.88, 384, 8,
        "NVIDIA GeForce RTX 50 laptops: 572 AI TOPS (4 bits, sparse: 32 times float), 3328 cores"},
    GeForceRow{
        "RTX-5070-Laptop", "blackwell-laptop", 24.94, 384, 8,
        "NVIDIA GeForce RTX 50 laptops: 798 AI TOPS (4 bits, sparse: 32 times float), 4608 cores"},
    GeForceRow{
        "RTX-5070Ti-Laptop", "blackwell-laptop", 31, 672, 12,
        "NVIDIA GeForce RTX 50 laptops: 992 AI TOPS (4 bits, sparse: 32 times float), 5888 cores"},
    GeForceRow{
        "RTX-5080-Laptop", "blackwell-laptop", 41.69, 896, 16,
        "NVIDIA GeForce RTX 50 laptops: 1334 AI TOPS (4 bits, sparse: 32 times float), 7680 cores"},
    GeForceRow{"RTX-5090-Laptop", "blackwell-laptop", 57, 896, 24,
               "NVIDIA GeForce RTX 50 laptops: 1824 AI TOPS (4 bits, sparse: 32 times float), "
               "10496 cores"},
};

// GTX 10: double 1/32 of float, half 1/64, 8-bit dot products four times. RTX 20: double 1/32, 16-bit
// products with float accumulation four times, 8-bit 16 times (NVIDIA Turing GPU architecture white
// paper WP-09183-001, appendix B).
constexpr std::array kPascalRows = {
    GeForceRow{"GTX-1060", "pascal", 4.375, 192, 6,
               "NVIDIA GeForce GTX 1060 6 GB specification: 1280 cores at 1709 MHz"},
    GeForceRow{"GTX-1070", "pascal", 6.463, 256, 8,
               "NVIDIA GeForce GTX 1070 specification: 1920 cores at 1683 MHz"},
    GeForceRow{"GTX-1080", "pascal", 8.873, 320, 8,
               "NVIDIA GeForce GTX 1080 specification: 2560 cores at 1733 MHz"},
    GeForceRow{"TITAN-Xp", "pascal", 12.15, 547.7, 12,
               "NVIDIA TITAN Xp specification: 3840 cores at 1582 MHz"},
};
constexpr std::array kTuringRows = {
    GeForceRow{"RTX-2060", "turing", 6.451, 336, 6,
               "NVIDIA GeForce RTX 2060 specification: 1920 cores at 1680 MHz"},
    GeForceRow{"RTX-2070", "turing", 7.465, 448, 8,
               "NVIDIA GeForce RTX 2070 specification: 2304 cores at 1620 MHz"},
    GeForceRow{"RTX-2070-SUPER", "turing", 9.062, 448, 8,
               "NVIDIA GeForce RTX 2070 SUPER specification: 2560 cores at 1770 MHz"},
    GeForceRow{"RTX-2080-SUPER", "turing", 11.15, 496, 8,
               "NVIDIA GeForce RTX 2080 SUPER specification: 3072 cores at 1815 MHz"},
};

AcceleratorRow RowOf(const GeForceRow& row, const PeakRates& tera, bool p2p) {
  return {row.name, row.architecture, tera, row.gb_per_second, row.gib, row.source, p2p};
}

}  // namespace

std::vector<AcceleratorRow> GeForceRows() {
  std::vector<AcceleratorRow> rows;
  for (const GeForceRow& row : kPascalRows) {
    const double t = row.float_tera;
    rows.push_back(RowOf(row, {t / 32, t, t / 64, 0, 4 * t}, true));
  }
  for (const GeForceRow& row : kTuringRows) {
    const double t = row.float_tera;
    rows.push_back(RowOf(row, {t / 32, t, 4 * t, 0, 16 * t}, kNoPeerToPeer));
  }
  for (const GeForceRow& row : kGeForceRows) {
    const double t = row.float_tera;
    rows.push_back(RowOf(row, {t / 64, t, 2 * t, 2 * t, 8 * t}, kNoPeerToPeer));
  }
  return rows;
}

}  // namespace placewright
