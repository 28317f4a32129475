/** What a guardrail of any kind gives: rules to search texts by, or a judge who is asked about them. */
import type { GuardrailSettings, Verdict } from '../core/guardrails.ts'
import type { Rule } from './scanner.ts'
import type { Span } from '../lib/linear-regex/index.ts'

/** What is judged: the question before a call, or its answer. */
export interface Subject {
  readonly stage: 'input' | 'output'
  /** Every text: of the question all that a policy sees, of the answer content, reasoning, refusals and arguments. */
  readonly texts: readonly string[]
  /** Texts that no operator wrote: of a chat those of users and tools. Of the answer the contents of its choices. */
  readonly contents: readonly string[]
  /** The last turn of the user, with results of tools after it. */
  readonly prompt: string
}

/** A part of a text that a judge found. */
export interface JudgedSpan extends Span {
  readonly name: string
  readonly action: 'mask' | 'block' | 'flag'
}

/** The verdict of a judge on a text. */
export interface Judgement {
  readonly verdict: Verdict
  /** For the client: what is wrong. */
  readonly reason?: string
  /** What to count in the ledger. */
  readonly found?: readonly string[]
  /** For each of the texts: what to mask in it. */
  readonly spans?: readonly (readonly JudgedSpan[])[]
  /** For each of the texts: what to send in its place. */
  readonly texts?: readonly string[]
}

/** A compiled guardrail. */
export interface Check {
  /** What is found while a text is read, also in a stream. */
  readonly rules?: readonly Rule[]
  /** Asked about the whole question or answer; a stream is held until then. */
  judge?(subject: Subject, context: JudgeContext): Judgement | Promise<Judgement>
  /** The judge is a model, whose calls the operator pays. */
  readonly isPaid?: boolean
  /** The stages that the judge has a word about; absent = both. */
  readonly judges?: readonly Subject['stage'][]
  /** What was masked in the question comes back in the answer. */
  readonly restores?: boolean
}

/** Outer services, as judges need them. Errors are GatewayErrors. */
export interface JudgeClients {
  /** The text of a whole answer of a chat model to one user message: an ordinary call, with its row in the ledger. */
  complete(model: string, text: string, context: JudgeContext): Promise<string>
  /** The scores of a moderation model, by category, for each text. */
  moderate(model: string, texts: readonly string[], context: JudgeContext): Promise<readonly ModerationVerdict[]>
  /** Sends JSON and returns the parsed answer of a 2xx. */
  post(request: PostRequest): Promise<unknown>
}

/** What a moderation model says of one text. */
export interface ModerationVerdict {
  readonly flagged: boolean
  readonly scores: Readonly<Record<string, number>>
  readonly categories: Readonly<Record<string, boolean>>
}

/** A request to a service of the operator. */
export interface PostRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
}

/** For which call and guardrail a judge is asked. */
export interface JudgeContext {
  readonly guardrail: string
  readonly callId: string
  readonly model: string
  /** Milliseconds for one question to a service. */
  readonly timeoutMs: number
  readonly caller: { readonly keyId: string; readonly userId: string | null; readonly teamId: string | null }
}

/** What a kind is compiled from. */
export interface CheckParts {
  readonly settings: GuardrailSettings
  readonly judges: JudgeClients
  /** Milliseconds since 1970. */
  epochMs(): number
}

/** A field of a guardrail that cannot be used. */
export class GuardrailProblem extends Error {
  override readonly name = 'GuardrailProblem'
  /** Inside of its parameters. */
  readonly path: readonly (string | number)[]

  constructor(path: readonly (string | number)[], message: string) {
    super(message)
    this.path = path
  }
}
