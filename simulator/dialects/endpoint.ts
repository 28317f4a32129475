/** What a dialect gets to answer a request: its words, and the means to think about them. */
import type { Answer, Ask, Json, Reply, ReplyUsage, UsageOf } from '../generation/types.ts'
import type { HttpRequest } from '../server/request-parser.ts'

/** The same for all dialects: what they do not need they leave alone. */
export interface Talk {
  readonly request: HttpRequest
  readonly body: Json
  /** Without the fault suffix; never empty. */
  readonly model: string
  readonly seed: number
  /** The path asks for a stream, whatever the body says. */
  readonly streams: boolean | undefined
  /** With the seed, and the script if one fits. */
  think(ask: Ask): Reply
  /** What is written of the usage, as a fault has it reported. */
  usageOf(write: (usage: ReplyUsage) => Json): UsageOf<Json | undefined>
}

/** Answers one endpoint. Throws BadRequest for what the vendor would refuse. */
export type Answerer = (talk: Talk) => Answer
