/** The cache of answers, as policies see it. */
import type { Reply } from './answer.ts'
import type { CacheSettings } from './answer-cache.ts'
import type { Call, Settlement } from './call.ts'

/** Keeps answers and gives them again. */
export interface AnswerCache {
  /** A kept answer, or nothing: then the call is sent, and its answer may be kept. */
  admit(call: Call, settings: CacheSettings): undefined | Reply | Promise<undefined | Reply>
  /** The end of a call with a `ReplyWatch`, or with a hit. */
  settled(settlement: Settlement): void
}
