import type { Policy } from '../../src/core/policy.ts'
import { windowedFilter } from '../../src/core/hub/text-window.ts'

/** Replaces `word` in every answer by as many asterisks: whole and streamed alike, wherever the upstream splits it. */
export function maskWord(word: string): Policy {
  const mask = '*'.repeat(word.length)
  return {
    name: 'mask-word',
    stage: 'body',
    answer: () => windowedFilter(word.length, text => text.replaceAll(word, mask)),
  }
}
