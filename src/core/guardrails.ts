/** Rules that read the texts of calls: what is configured, what they found, and what endpoints may ask of them. */
import type { Secret } from '../lib/secret.ts'
import type { Caller } from './caller.ts'
import type { HttpRequest } from './request.ts'

/** When a guardrail is asked: before the call, beside it, and about its answer. */
export type GuardrailMode = 'pre_call' | 'during_call' | 'post_call'

/** One guardrail as it is configured; checked, so that it can be compiled. Immutable. */
export interface GuardrailSettings {
  /** Of one of the API a UUID, of one of the file its name. */
  readonly id: string
  /** Letters, digits and . _ -; unique. */
  readonly name: string
  /** What it does: `personal_data`, `regex`, ... (`guardrails/params.ts`). */
  readonly kind: string
  readonly modes: readonly GuardrailMode[]
  /** The operator demands it of every call. */
  readonly defaultOn: boolean
  /** What it finds is only recorded. */
  readonly recordsOnly: boolean
  /** The fields of its kind, without secrets. */
  readonly params: Readonly<Record<string, unknown>>
  /** Of the service that it asks. */
  readonly secrets: { readonly apiKey?: Secret | undefined; readonly signingSecret?: Secret | undefined }
  /** For people and programs that list guardrails. */
  readonly info: Readonly<Record<string, unknown>>
  readonly origin: 'config' | 'db'
}

/** From harmless to grave. `error` = its service did not answer, and it lets calls pass then. */
export const verdicts = ['pass', 'error', 'flag', 'mask', 'block'] as const
/** What a guardrail says of a call. */
export type Verdict = (typeof verdicts)[number]

/** What one guardrail said of one call until now. */
export class GuardrailOutcome {
  readonly name: string
  verdict: Verdict = 'pass'
  /** Its service was asked in vain at least once; a graver verdict does not hide it. */
  isUnanswered = false
  /** Kind of what was found -> how often. Never the texts themselves. */
  readonly found = new Map<string, number>()
  /** Milliseconds that the call waited for a service; 0 = it asks none. */
  waitedMs = 0
  /** When its service was first asked, on the monotonic clock; 0 = it was not. */
  askedMs = 0

  constructor(name: string) {
    this.name = name
  }

  /** The gravest verdict stays. */
  add(verdict: Verdict, found?: string): void {
    if (verdict === 'error') this.isUnanswered = true
    if (verdicts.indexOf(verdict) > verdicts.indexOf(this.verdict)) this.verdict = verdict
    if (found !== undefined) this.found.set(found, (this.found.get(found) ?? 0) + 1)
  }
}

/** For the ledger and the log: `pii:mask(EMAIL_ADDRESS=2),words:pass`. */
export function outcomeText(outcomes: readonly GuardrailOutcome[]): string {
  return outcomes
    .map(({ name, verdict, found }) => {
      const counts = [...found].map(([what, count]) => `${what}=${count}`).join(' ')
      return `${name}:${verdict}${counts === '' ? '' : `(${counts})`}`
    })
    .join(',')
}

/** What a guardrail says of a sample. */
export interface GuardrailTrial {
  readonly verdict: Verdict
  /** The sample as it would be sent; of one that is blocked the sample itself. */
  readonly text: string
  readonly reason: string | undefined
  readonly found: Readonly<Record<string, number>>
}

/** A sample to be judged. */
export interface GuardrailSample {
  readonly guardrail: GuardrailSettings
  readonly text: string
  /** As the question, or as the answer. */
  readonly stage: 'input' | 'output'
  /** For the output: what was asked. */
  readonly prompt?: string | undefined
}

/** What endpoints may ask of guardrails, beside what is configured. */
export interface GuardrailTrials {
  /** Judges a sample; nothing is stored, but calls of models that judge have their rows in the ledger. */
  tryOut(sample: GuardrailSample, caller: Caller, request: HttpRequest): Promise<GuardrailTrial>
}
