/** The guardrails of one call: what they find, what they mask, and how a refusal reads. */
import type { Call } from '../core/call.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import { GuardrailOutcome } from '../core/guardrails.ts'
import type { GuardrailMode, GuardrailSettings } from '../core/guardrails.ts'
import type { JudgeContext, Check, Judgement, Subject } from './check.ts'
import { guardrailKeys } from './params.ts'
import type { GuardrailParams } from './params.ts'
import { fixedPlaceholder, Placeholders } from './placeholders.ts'
import { Scanner } from './scanner.ts'
import type { Finding, Rule } from './scanner.ts'

/** A guardrail that can be asked. */
export interface Guardrail {
  readonly settings: GuardrailSettings
  readonly check: Check
}

/** The refusal of a question or an answer. What was found is never part of it. */
export function refusal(name: string, stage: Subject['stage'], reason: string): GatewayError {
  const what = stage === 'input' ? 'request' : 'answer'
  return new GatewayError('content-policy', `the ${what} was refused by the guardrail '${name}': ${reason}`)
}

/** What guardrails need of a call. */
export interface GuardedSubject extends Pick<Call, 'id' | 'model' | 'caller'> {
  guardrailOutcomes: Call['guardrailOutcomes']
}

/** What a guarded call needs of its surroundings. */
export interface GuardedParts {
  /** Milliseconds of a monotonic clock. */
  nowMs(): number
  /** Asked before models judge the question: throws or rejects with `budget-exceeded` where it could not be paid. */
  checkBudgets(): Promise<void>
}

/** State of one call, from its admission to its end. */
export class GuardedCall {
  readonly guardrails: readonly Guardrail[]
  readonly placeholders = new Placeholders()
  /** Resolves when those that are asked beside the call have let it pass. Its rejection is always handled. */
  beside: Promise<void> | undefined
  readonly #call: GuardedSubject
  readonly #outcomes: ReadonlyMap<string, GuardrailOutcome>
  readonly #parts: GuardedParts
  /** What was noted already: the question is read once by all rules before the call, and once beside it. */
  readonly #unreadable = new Set<string>()

  constructor(call: GuardedSubject, guardrails: readonly Guardrail[], parts: GuardedParts) {
    this.guardrails = guardrails
    this.#call = call
    this.#parts = parts
    const outcomes = guardrails.map(({ settings }) => new GuardrailOutcome(settings.name))
    call.guardrailOutcomes = outcomes
    this.#outcomes = new Map(outcomes.map(one => [one.name, one]))
  }

  /** What is put in the place of a find of the question; undefined = it stays. Throws to refuse. */
  replaceInput(finding: Finding, found: string): string | undefined {
    return this.#note(finding.rule, 'input') ? this.maskOf(finding, found) : undefined
  }

  /** What stands for a find of the question, without recording it again. */
  maskOf({ rule }: Finding, found: string): string {
    return this.#restores(rule) ? this.placeholders.of(rule.name, found) : fixedPlaceholder(rule.name)
  }

  /** The same of the answer, where nothing has to come back. */
  replaceOutput({ rule }: Finding): string | undefined {
    return this.#note(rule, 'output') ? fixedPlaceholder(rule.name) : undefined
  }

  /** Records a find; true = it is to be masked. Throws to refuse. */
  #note({ guardrail, name, action }: Rule, stage: Subject['stage']): boolean {
    this.#outcomes.get(guardrail)?.add(action, name)
    if (action === 'block') throw refusal(guardrail, stage, `it holds ${name}`)
    return action === 'mask'
  }

  #restores({ guardrail }: Rule): boolean {
    return this.guardrails.some(({ settings, check }) => settings.name === guardrail && check.restores === true)
  }

  /** Records that a part of the question cannot be read, for those that are asked about questions. Throws to refuse. */
  noteUnreadable(what: string): void {
    if (this.#unreadable.has(what)) return
    this.#unreadable.add(what)
    for (const { settings } of this.guardrails) {
      if (!settings.modes.some(mode => mode !== 'post_call')) continue
      const { unreadable_files: action = guardrailKeys.unreadable_files.default } = settings.params as GuardrailParams
      if (action === 'pass') continue
      const verdict = settings.recordsOnly ? 'flag' : action
      this.#outcomes.get(settings.name)!.add(verdict, 'UNREADABLE_FILE')
      if (verdict === 'block') throw refusal(settings.name, 'input', `${what} cannot be read`)
    }
  }

  /** The guardrails of this call that have a judge for a mode. */
  judgesOf(mode: GuardrailMode): readonly Guardrail[] {
    const stage = mode === 'post_call' ? 'output' : 'input'
    return this.guardrails.filter(
      ({ settings, check }) => check.judge && settings.modes.includes(mode) && (check.judges?.includes(stage) ?? true),
    )
  }

  /**
   * Asks all judges about the same subject, side by side; resolves with the texts in place of the given ones. Without a
   * service the answer is there at once. Throws or rejects with the first refusal, in the order of the guardrails; with
   * `budget-exceeded` before models are asked about a question that its budgets leave no room for.
   */
  judge(judges: readonly Guardrail[], subject: Subject): readonly string[] | Promise<readonly string[]> {
    const isPaid = subject.stage === 'input' && judges.some(({ check }) => check.isPaid)
    const checking = isPaid ? this.#parts.checkBudgets() : undefined
    return checking ? checking.then(() => this.#askAll(judges, subject)) : this.#askAll(judges, subject)
  }

  #askAll(judges: readonly Guardrail[], subject: Subject): readonly string[] | Promise<readonly string[]> {
    const pending = judges.map(one => this.#ask(one, subject))
    const weigh = (judgements: readonly (Judgement | undefined)[]): readonly string[] => {
      let { texts } = subject
      for (const [at, judgement] of judgements.entries())
        if (judgement) texts = this.#weighed(judges[at]!, judgement, { subject, texts })
      return texts
    }
    if (!pending.some(one => one instanceof Promise)) return weigh(pending as (Judgement | undefined)[])
    return Promise.allSettled(pending).then(ends =>
      weigh(
        ends.map(end => {
          if (end.status === 'rejected') throw toGatewayError(end.reason)
          return end.value
        }),
      ),
    )
  }

  #ask(guardrail: Guardrail, subject: Subject): Judgement | undefined | Promise<Judgement | undefined> {
    const { check, settings } = guardrail
    const answer = check.judge!(subject, this.#asking(settings))
    if (!(answer instanceof Promise)) return answer
    const beganMs = this.#parts.nowMs()
    const outcome = this.#outcomes.get(settings.name)!
    if (outcome.askedMs === 0) outcome.askedMs = beganMs
    return answer
      .catch(thrown => this.#unanswered(settings, toGatewayError(thrown)))
      .finally(() => (outcome.waitedMs += this.#parts.nowMs() - beganMs))
  }

  #asking({ name, params }: GuardrailSettings): JudgeContext {
    const { id, model, caller } = this.#call
    const { timeout = guardrailKeys.timeout.default } = params as GuardrailParams
    const { id: keyId, userId, teamId } = caller.key
    return { guardrail: name, callId: id, model, timeoutMs: timeout * 1000, caller: { keyId, userId, teamId } }
  }

  /** The service of a guardrail did not answer. Throws unless calls pass then. */
  #unanswered({ name, params }: GuardrailSettings, error: GatewayError): undefined {
    if ((params as GuardrailParams).unreachable_fallback === 'fail_open') {
      this.#outcomes.get(name)!.add('error')
      return undefined
    }
    throw new GatewayError(
      'overloaded',
      `the guardrail '${name}' could not be asked, so that the call is not let through; try again later`,
      { cause: error },
    )
  }

  #weighed(
    { settings }: Guardrail,
    judgement: Judgement,
    { subject, texts }: { subject: Subject; texts: readonly string[] },
  ): readonly string[] {
    const outcome = this.#outcomes.get(settings.name)!
    const verdict = settings.recordsOnly && judgement.verdict !== 'pass' ? 'flag' : judgement.verdict
    outcome.add(verdict)
    for (const one of judgement.found ?? []) outcome.add(verdict, one)
    if (verdict === 'block') throw refusal(settings.name, subject.stage, judgement.reason ?? 'it is not allowed')
    if (verdict !== 'mask') return texts
    // A text that another guardrail has changed meanwhile does not hold the judged spans any more.
    return texts.map((text, at) => (text === subject.texts[at] ? this.#masked(judgement, subject, at) : text))
  }

  #masked({ spans, texts }: Judgement, subject: Subject, at: number): string {
    const text = subject.texts[at]!
    if (texts) return texts[at]!
    let out = ''
    let from = 0
    for (const one of [...(spans?.[at] ?? [])].sort((a, b) => a.start - b.start)) {
      if (one.action !== 'mask' || one.end <= from) continue
      const start = Math.max(one.start, from)
      const value = text.slice(start, one.end)
      const isInput = subject.stage === 'input'
      out += text.slice(from, start) + (isInput ? this.placeholders.of(one.name, value) : fixedPlaceholder(one.name))
      from = one.end
    }
    return out + text.slice(from)
  }
}

const scanners = new WeakMap<readonly Rule[], Scanner>()
const combined = new Map<string, readonly Rule[]>()
const combinedMax = 1000

/** The scanner for the rules of several guardrails; undefined = they have none. Kept for further calls. */
export function scannerOf(guardrails: readonly Guardrail[], mode: GuardrailMode): Scanner | undefined {
  const applicable = guardrails.filter(({ check, settings }) => check.rules && settings.modes.includes(mode))
  if (applicable.length === 0) return undefined
  const rules = applicable.length === 1 ? applicable[0]!.check.rules! : joined(applicable)
  let scanner = scanners.get(rules)
  if (!scanner) scanners.set(rules, (scanner = new Scanner(rules)))
  return scanner
}

const ids = new WeakMap<Check, number>()
let lastId = 0

function joined(guardrails: readonly Guardrail[]): readonly Rule[] {
  const key = guardrails
    .map(({ check }) => {
      let id = ids.get(check)
      if (id === undefined) ids.set(check, (id = ++lastId))
      return id
    })
    .join(' ')
  let rules = combined.get(key)
  if (!rules) {
    if (combined.size >= combinedMax) combined.clear()
    combined.set(key, (rules = guardrails.flatMap(({ check }) => check.rules!)))
  }
  return rules
}
