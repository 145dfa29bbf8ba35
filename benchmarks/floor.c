/* The sums of hard labels by hand, four rows at a time: what `summarize` is measured against. Every score lies in [0, 1] and
   every outcome is 0 or 1; nothing is checked. Compile without contraction of multiplications and additions. */

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define ALL _mm256_set1_pd

/* floor(power·2^31 + 1/2) in the low bits of a float: conversions to integers are slow. */
static inline __m256d whole(__m256d power) {
  __m256d scaled = _mm256_add_pd(_mm256_mul_pd(power, ALL(0x1p31)), ALL(0.5));
  return _mm256_add_pd(_mm256_floor_pd(scaled), ALL(0x1p52));
}

static inline void add(const double *f, int64_t place, __m256d terms, const uint8_t *cut, const int32_t *extra_before,
                       const double *extra, int64_t slots, int64_t *table) {
  int64_t slot = place >> 1;
  if (__builtin_expect(cut[slot], 0)) {
    int64_t row = slot;
    for (int32_t j = extra_before[slot]; j < extra_before[slot + 1]; j++)
      if (*f >= extra[j]) row = slots + j;
    place = 2 * row + (place & 1);
  }
  __m256i *to = (__m256i *)(table + 4 * place);
  __m256i v = _mm256_sub_epi64(_mm256_castpd_si256(terms), _mm256_castpd_si256(ALL(0x1p52)));
  _mm256_storeu_si256(to, _mm256_add_epi64(_mm256_loadu_si256(to), v));
}

/* Adds rows, a multiple of four, to table[2·row + label] = (n, R1, R2, R3). */
void hard(const double *f, const double *y, ptrdiff_t n, const uint8_t *cut, const int32_t *extra_before, const double *extra,
          int64_t slots, double middle, double upper, int64_t *table) {
  for (ptrdiff_t i = 0; i < n; i += 4) {
    __m256d x = _mm256_loadu_pd(f + i);
    __m256d low = _mm256_cmp_pd(x, ALL(0x1p-6), _CMP_LT_OQ), high = _mm256_cmp_pd(x, ALL(1 - 0x1p-6), _CMP_GE_OQ);
    __m256d unit = _mm256_blendv_pd(ALL(0x1p14), ALL(0x1p20), _mm256_or_pd(low, high));
    __m256d offset = _mm256_blendv_pd(_mm256_andnot_pd(low, ALL(middle)), ALL(upper), high);
    __m256d scaled = _mm256_mul_pd(x, unit);
    __m256d k = _mm256_min_pd(_mm256_floor_pd(scaled), _mm256_sub_pd(unit, ALL(1)));
    __m256d slot = _mm256_add_pd(k, offset), r = _mm256_sub_pd(scaled, k);
    __m256d square = _mm256_mul_pd(r, r);
    int32_t place[4];
    __m256d twice = _mm256_add_pd(_mm256_add_pd(slot, slot), _mm256_loadu_pd(y + i));
    _mm_storeu_si128((__m128i *)place, _mm256_cvttpd_epi32(twice));
    __m256d one = ALL(0x1p52 + 1), r1 = whole(r), r2 = whole(square), r3 = whole(_mm256_mul_pd(square, r));
    __m256d a = _mm256_unpacklo_pd(one, r1), b = _mm256_unpackhi_pd(one, r1);
    __m256d c = _mm256_unpacklo_pd(r2, r3), d = _mm256_unpackhi_pd(r2, r3);
    add(f + i, place[0], _mm256_permute2f128_pd(a, c, 0x20), cut, extra_before, extra, slots, table);
    add(f + i + 1, place[1], _mm256_permute2f128_pd(b, d, 0x20), cut, extra_before, extra, slots, table);
    add(f + i + 2, place[2], _mm256_permute2f128_pd(a, c, 0x31), cut, extra_before, extra, slots, table);
    add(f + i + 3, place[3], _mm256_permute2f128_pd(b, d, 0x31), cut, extra_before, extra, slots, table);
  }
}
