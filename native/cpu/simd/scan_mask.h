// What a mask says of the tokens of a row that is scanned from its end.
namespace srp::cpu::SRP_LEVEL {

// Whether a mask keeps none of a register of tokens.
SRP_INLINE bool none_kept(const uint8_t* mask) {
  using Word = std::conditional_t<(kLanes < 8), uint32_t, uint64_t>;
  Word words[kLanes / int64_t{sizeof(Word)}], any = 0;
  memcpy(words, mask, sizeof words);
  for (const Word word : words) any |= word;
  return any == 0;
}

template <class Word>
SRP_INLINE Word unlike_ones(const uint8_t* mask) {
  Word word;
  memcpy(&word, mask, sizeof word);
  return word ^ static_cast<Word>(0x0101010101010101u);
}

// Whether all of kCount tokens are kept; a mask may have other bytes than 1 for them, and then takes longer.
template <int64_t kCount>
SRP_INLINE bool all_kept(const uint8_t* mask) {
  using Word = std::conditional_t<(kCount < 8), uint32_t, uint64_t>;
  Word unlike = 0;
  for (int64_t i = 0; i < kCount; i += int64_t{sizeof(Word)}) unlike |= unlike_ones<Word>(mask + i);
  return unlike == 0 || memchr(mask, 0, kCount) == nullptr;
}
// The same of fewer than a register, in two words that may overlap.
SRP_INLINE bool all_kept(const uint8_t* mask, int64_t count) {
  uint64_t unlike = 0;
  if (count >= 8)
    unlike = unlike_ones<uint64_t>(mask) | unlike_ones<uint64_t>(mask + count - 8);
  else if (count >= 4)
    unlike = unlike_ones<uint32_t>(mask) | unlike_ones<uint32_t>(mask + count - 4);
  else
    for (int64_t i = 0; i < count; ++i) unlike |= uint64_t{mask[i]} ^ 1u;
  return unlike == 0 || memchr(mask, 0, static_cast<size_t>(count)) == nullptr;
}

// Where a row ends whose tokens behind its last kept one are left out.
SRP_INLINE int64_t kept_end(const uint8_t* mask, int64_t begin, int64_t end) {
  for (; end - begin >= 8; end -= 8) {
    uint64_t word;
    memcpy(&word, mask + end - 8, sizeof word);
    if (word != 0) return end - __builtin_clzll(word) / 8;
  }
  while (end > begin && !mask[end - 1]) --end;
  return end;
}

}  // namespace srp::cpu::SRP_LEVEL
