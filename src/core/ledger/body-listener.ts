/** Who else hears of what is stored of a call. */
import type { Call } from '../call.ts'
import type { CallContent } from './stored-bodies.ts'

/** Hears of what is stored, with its call. Must not throw or wait. */
export type BodyListener = (call: Call, said: CallContent) => void
