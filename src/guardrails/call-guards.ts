/**
 * What guardrails do with the calls that they hold for: search, judge, mask, restore. Loaded by `policies.ts` when
 * there is a guardrail.
 */
import { createHash } from 'node:crypto'
import { noCacheControls } from '../core/cache/cache-settings.ts'
import type { BudgetCheck } from '../core/tenancy/budget-check.ts'
import type { CallBodyCollector } from '../core/ledger/stored-bodies.ts'
import type { Call, CallInAdmission } from '../core/call.ts'
import type { ChatRequest, Part } from '../core/hub/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { GuardrailSettings } from '../core/guardrails.ts'
import { changeTexts, fixedTextKinds } from '../core/hub/input.ts'
import { readFiles } from '../core/hub/packed-files.ts'
import type { CallInput, InputTextKind } from '../core/hub/input.ts'
import type { AnswerFilter, ChangeAnswerTexts } from '../core/policy.ts'
import type { Check, CheckParts } from './check.ts'
import { compileCheck, windowOf } from './compile.ts'
import { searchableFile } from './file-text.ts'
import { GuardedCall, refusal, scannerOf } from './guarded-call.ts'
import type { Guardrail } from './guarded-call.ts'
import { JudgeFilter } from './judge-filter.ts'
import { placeholderForm } from './placeholders.ts'
import type { Scanner } from './scanner.ts'
import { questionOf, textsOf } from './subject.ts'
import { replaced, replacedJson, TextFilter } from './text-filter.ts'
import { addInner, isWordInId, opaqueTexts, unreadFields, unreadParts, unreadTexts } from './unread-fields.ts'
import { WindowFilter } from './window-filter.ts'

/** What guardrails work with. */
export interface GuardrailParts extends Pick<CheckParts, 'judges' | 'epochMs'> {
  /** Milliseconds of a monotonic clock. */
  nowMs(): number
  readonly budgets: BudgetCheck
}

/** The guardrails of a call, with what is reported of them. */
interface GuardrailSet {
  readonly guardrails: readonly Guardrail[]
  readonly names: string
  readonly fingerprints: readonly string[]
}

/** Compiled once for each object of settings. */
export class CallGuards {
  readonly #parts: GuardrailParts
  readonly #checks = new WeakMap<GuardrailSettings, Check>()
  readonly #sets = new WeakMap<readonly GuardrailSettings[], GuardrailSet>()
  readonly #calls = new WeakMap<Call, GuardedCall>()

  constructor(parts: GuardrailParts) {
    this.#parts = parts
  }

  /** The guardrail, compiled. */
  guardrail(settings: GuardrailSettings): Guardrail {
    let check = this.#checks.get(settings)
    if (!check) this.#checks.set(settings, (check = compileCheck({ ...this.#parts, settings })))
    return { settings, check }
  }

  /** Throws, or rejects, where a guardrail refuses the call. `chosen` = those that hold for it. */
  admit(call: CallInAdmission, chosen: readonly GuardrailSettings[]): void | Promise<void> {
    let set = this.#sets.get(chosen)
    if (!set) this.#sets.set(chosen, (set = this.#setOf(chosen)))
    const { nowMs, budgets } = this.#parts
    refuseRepeatedNames(call)
    const guarded = new GuardedCall(call, set.guardrails, { nowMs, checkBudgets: () => budgets.ofCall(call) })
    this.#calls.set(call, guarded)
    call.responseHeaders[`${call.models.settings.headerPrefix}-applied-guardrails`] = set.names
    call.guardrails = set.fingerprints
    const reading = readsQuestion(guarded) ? filesRead(call) : undefined
    const judged = reading ? reading.then(() => this.#askBefore(call, guarded)) : this.#askBefore(call, guarded)
    return judged instanceof Promise ? judged.then(() => leaveCache(call, guarded)) : leaveCache(call, guarded)
  }

  #setOf(chosen: readonly GuardrailSettings[]): GuardrailSet {
    return {
      guardrails: chosen.map(one => this.guardrail(one)),
      names: chosen.map(one => one.name).join(','),
      fingerprints: chosen.map(fingerprintOf),
    }
  }

  #askBefore(call: Call, guarded: GuardedCall): void | Promise<void> {
    const scanner = scannerOf(guarded.guardrails, 'pre_call')
    const beside = scannerOf(guarded.guardrails, 'during_call')
    if (scanner) searchInput(call, guarded, scanner)
    // Searches by form are quick: `during_call` rules of this kind run at once, not beside the call.
    if (beside) searchInput(call, guarded, beside)
    if (!scanner && !beside) noteUnreadable(call, guarded)
    const before = guarded.judgesOf('pre_call')
    const meanwhile = guarded.judgesOf('during_call')
    // Only answers of chats can be held back until those beside the call have answered.
    const isHeld = call.format !== undefined && 'writer' in call.format && !call.isBatchLine
    const judges = isHeld ? before : [...before, ...meanwhile]
    if (judges.length === 0) return this.#askBeside(call, guarded, isHeld ? meanwhile : [])
    const subject = questionOf(readableInput(call))
    const judged = guarded.judge(judges, subject)
    const go = (texts: readonly string[]): void => {
      changeTo(call, subject.texts, texts)
      this.#askBeside(call, guarded, isHeld ? meanwhile : [])
    }
    return judged instanceof Promise ? judged.then(go) : go(judged)
  }

  #askBeside(call: Call, guarded: GuardedCall, judges: readonly Guardrail[]): void {
    if (judges.length === 0) return
    const subject = questionOf(readableInput(call))
    const judged = new Promise<readonly string[]>(resolve => resolve(guarded.judge(judges, subject)))
    guarded.beside = judged.then(texts => {
      if (texts.every((text, at) => text === subject.texts[at])) return
      const [one] = judges
      throw refusal(one!.settings.name, 'input', 'it would have to be masked, and the call is under way')
    })
    guarded.beside.catch(() => {})
  }

  /** Of what is found by its form. */
  searchFilter(call: Call): AnswerFilter | undefined {
    const guarded = this.#calls.get(call)
    const scanner = guarded && scannerOf(guarded.guardrails, 'post_call')
    return scanner && new TextFilter(scanner, finding => guarded.replaceOutput(finding))
  }

  /** Those with windows, in streams: all in windows of the one that asks soonest, with the largest overlap. */
  windowFilter(call: Call): AnswerFilter | undefined {
    const guarded = call.stream ? this.#calls.get(call) : undefined
    const judges = guarded?.judgesOf('post_call').filter(({ settings }) => windowOf(settings)) ?? []
    if (!guarded || judges.length === 0) return undefined
    const all = judges.map(({ settings }) => windowOf(settings)!)
    const sizes = {
      characters: Math.min(...all.map(one => one.characters)),
      overlap: Math.max(...all.map(one => one.overlap)),
      waitMs: Math.min(...all.map(one => one.waitMs)),
    }
    return new WindowFilter({ guarded, judges, prompt: questionOf(call.input()).prompt, sizes })
  }

  /** Of what is judged as a whole. */
  judgeFilter(call: Call): AnswerFilter | undefined {
    const guarded = this.#calls.get(call)
    if (!guarded) return undefined
    const judges = guarded.judgesOf('post_call').filter(({ settings }) => !call.stream || !windowOf(settings))
    if (judges.length === 0 && guarded.beside === undefined) return undefined
    return new JudgeFilter({ guarded, judges, prompt: questionOf(call.input()).prompt })
  }

  /** The answer of a batch's line is read by no policy: what is masked in it stays so. */
  restoreFilter(call: Call): AnswerFilter | undefined {
    const guarded = this.#calls.get(call)
    if (!guarded || guarded.placeholders.isEmpty || call.isBatchLine) return undefined
    const restore = new TextFilter(guarded.placeholders.scanner(), (_, found) => guarded.placeholders.valueOf(found))
    return call.bodyCollector ? collectedBefore(restore, call.bodyCollector) : restore
  }

  /** Of operations whose answers have texts, but no events. */
  changeTexts(call: Call): ChangeAnswerTexts | undefined {
    const guarded = this.#calls.get(call)
    if (!guarded || !operationsWithTexts.has(call.operation)) return undefined
    const scanner = scannerOf(guarded.guardrails, 'post_call')
    const judges = guarded.judgesOf('post_call')
    const { placeholders } = guarded
    if (!placeholders.isEmpty) call.bodyCollector?.omitAnswer()
    if (!scanner && judges.length === 0 && placeholders.isEmpty) return undefined
    const restored = (texts: readonly string[]): readonly string[] => {
      if (placeholders.isEmpty) return texts
      const restoring = placeholders.scanner()
      return texts.map(text => replaced(text, restoring, (_, found) => placeholders.valueOf(found)))
    }
    return async texts => {
      const searched = scanner ? texts.map(text => replaced(text, scanner, one => guarded.replaceOutput(one))) : texts
      if (judges.length === 0) return restored(searched)
      const { prompt } = questionOf(call.input())
      return restored(await guarded.judge(judges, { stage: 'output', texts: searched, contents: searched, prompt }))
    }
  }
}

/** What is stored of an answer is what it was before the client's values came back. */
function collectedBefore(restore: AnswerFilter, collector: CallBodyCollector): AnswerFilter {
  return {
    event(event) {
      collector.masked([event])
      return restore.event(event)
    },
    end: () => restore.end(),
  }
}

const fingerprints = new WeakMap<GuardrailSettings, string>()

/** Another one for other settings under the same name: what passed the old ones was not judged by the new ones. */
function fingerprintOf(settings: GuardrailSettings): string {
  let known = fingerprints.get(settings)
  if (known === undefined) {
    const { name, kind, modes, params } = settings
    const hash = createHash('sha256')
      .update(JSON.stringify([kind, modes, params]))
      .digest('base64url')
    fingerprints.set(settings, (known = `${name} ${hash.slice(0, 16)}`))
  }
  return known
}

/** An answer with values of one client in it is for that client alone; one that is still judged must not go out. */
function leaveCache(call: CallInAdmission, { placeholders, beside }: GuardedCall): void {
  if (placeholders.isEmpty && beside === undefined) return
  call.overrides = { ...call.overrides, cache: { ...(call.overrides.cache ?? noCacheControls), use: false } }
}
const operationsWithTexts: ReadonlySet<string> = new Set(['transcriptions', 'images', 'rerank'])

/** Throws `invalid-request`: a guardrail would read one of two values of a name, and the upstream perhaps the other. */
function refuseRepeatedNames({ body, upload }: Call): void {
  const repeated = upload ? undefined : body?.repeatedName()
  if (!repeated) return
  const { name, offset } = repeated
  const text = `a guardrail reads this call, and the field ${JSON.stringify(name)} is given twice in one object`
  throw new GatewayError('invalid-request', `${text} (at byte ${offset}); send it once`)
}

/** Throws `invalid-request` for token ids, which no guardrail can read. */
function readableInput(call: Call): CallInput {
  const input = call.input()
  if (input.kind === 'embeddings' && input.request.inputs.some(one => typeof one !== 'string'))
    throw new GatewayError('invalid-request', 'a guardrail reads this call, and token ids cannot be read; send texts', {
      param: 'input',
    })
  return input
}

/** The lines of a batch are asked about one by one. */
const isBatchFile = (input: CallInput): boolean => input.kind === 'form' && input.fields.purpose === 'batch'

/** Refuses, records and masks what the rules find. Only what is masked changes the call. */
function searchInput(call: Call, guarded: GuardedCall, scanner: Scanner): void {
  const input = readableInput(call)
  let masks = false
  const skipsFiles = isBatchFile(input)
  const replace = (kind: InputTextKind) => (finding: Parameters<GuardedCall['replaceInput']>[0], text: string) => {
    if (finding.rule.action === 'mask') {
      if (fixedTextKinds.has(kind))
        throw refusal(
          finding.rule.guardrail,
          'input',
          `a ${kind === 'name' ? 'name or an address' : 'file'} holds` +
            ` ${finding.rule.name}, which cannot be masked there; ` +
            'take it out',
        )
      if (!masks) reservePlaceholders(input, guarded)
      masks = true
    }
    return guarded.replaceInput(finding, text)
  }
  const unread = 'request' in input ? unreadFields(call) : []
  const known = new Set<string>()
  changeTexts(input, (text, kind) => {
    known.add(text)
    if (kind === 'json') addInner(known, text)
    if (skipsFiles && kind !== 'text') return undefined
    if (kind === 'unreadable') guarded.noteUnreadable(text)
    else if (kind === 'json') replacedJson(text, scanner, replace(kind))
    else replaced(kind === 'file' ? searchableFile(text) : text, scanner, replace(kind))
    return undefined
  })
  if (input.kind === 'chat') refuseSplit(input.request, guarded, scanner)
  if (unread.length > 0) replaced(unreadTexts(call, unread, known), scanner, replace('name'))
  // What would be masked there is left out: a changed call is translated, and translation drops these parts.
  if (input.kind === 'chat' && call.body) replaced(unreadParts(call.body, known), scanner, replace('text'))
  if (input.kind === 'chat' && call.body) {
    const { likely, unlikely } = opaqueTexts(call.body)
    replaced(unlikely, scanner, replace('name'))
    replaced(likely, scanner, (finding, text) => (isWordInId(text) ? replace('name')(finding, text) : undefined))
  }
  if (!masks) return
  call.change(one =>
    changeTexts(one, (text, kind) => {
      if (fixedTextKinds.has(kind)) return undefined
      const mask = (finding: Parameters<GuardedCall['replaceInput']>[0], value: string) =>
        finding.rule.action === 'mask' ? guarded.maskOf(finding, value) : undefined
      return kind === 'json' ? replacedJson(text, scanner, mask) : replaced(text, scanner, mask)
    }),
  )
}

/**
 * Upstreams join the texts of a message, and those of a tool's result: what stands over the border of two parts is
 * found, and cannot be masked.
 */
function refuseSplit({ messages, series = [] }: ChatRequest, guarded: GuardedCall, scanner: Scanner): void {
  for (const { parts } of [messages, ...series].flat()) {
    refuseSplitParts(parts, guarded, scanner)
    for (const part of parts) if (part.type === 'tool-result') refuseSplitParts(part.parts, guarded, scanner)
  }
}

function refuseSplitParts(parts: readonly Part[], guarded: GuardedCall, scanner: Scanner): void {
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
  if (texts.length < 2) return
  let border = 0
  const borders = texts.slice(0, -1).map(text => (border += text.length))
  for (const finding of scanner.findAll(texts.join(''))) {
    if (!borders.some(at => finding.start < at && finding.end > at)) continue
    const { guardrail, name, action } = finding.rule
    if (action !== 'flag') throw refusal(guardrail, 'input', `it holds ${name}, split over parts of a message`)
    guarded.replaceInput(finding, '')
  }
}

const readsQuestion = ({ guardrails }: GuardedCall): boolean =>
  guardrails.some(({ settings }) => settings.modes.some(mode => mode !== 'post_call'))

function filesRead(call: Call): Promise<void> | undefined {
  const input = call.input()
  return mayHoldFiles(input) && !isBatchFile(input) ? readFiles(input, call.caller.key.id) : undefined
}

/** Where something looks at the question, and it may have files. */
function noteUnreadable(call: Call, guarded: GuardedCall): void {
  if (!readsQuestion(guarded)) return
  const input = call.input()
  if (!mayHoldFiles(input) || isBatchFile(input)) return
  changeTexts(input, (text, kind) => {
    if (kind === 'unreadable') guarded.noteUnreadable(text)
    return undefined
  })
}

function mayHoldFiles(input: CallInput): boolean {
  if (input.kind === 'form') return input.files.length > 0
  if (input.kind !== 'chat') return false
  const { messages, series = [] } = input.request
  return [messages, ...series].flat().some(({ parts }) => parts.some(({ type }) => typesOfFiles.has(type)))
}

const typesOfFiles: ReadonlySet<Part['type']> = new Set(['document', 'tool-result', 'image'])

function reservePlaceholders(input: CallInput, guarded: GuardedCall): void {
  const taken = new Set(textsOf(input).flatMap(({ text }) => text.match(placeholderForm) ?? []))
  guarded.placeholders.reserve(
    placeholder => taken.has(placeholder) && guarded.placeholders.valueOf(placeholder) === undefined,
  )
}

/** Puts what judges have changed into the call. */
function changeTo(call: Call, before: readonly string[], after: readonly string[]): void {
  const changed = new Map<string, string>()
  for (const [at, text] of before.entries()) if (text !== after[at]) changed.set(text, after[at]!)
  if (changed.size === 0) return
  const changedTexts = textsOf(call.input()).filter(one => changed.has(one.text))
  const fixed = changedTexts.find(one => fixedTextKinds.has(one.kind))
  if (fixed)
    throw new GatewayError(
      'content-policy',
      `a ${fixed.kind === 'name' ? 'name' : 'file'} holds what a guardrail masks, which cannot be done there`,
    )
  call.change(input => changeTexts(input, (text, kind) => (fixedTextKinds.has(kind) ? undefined : changed.get(text))))
}
