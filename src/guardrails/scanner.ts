/** Finds what several rules look for in a text, whole or as it comes. */
import { anyOf } from '../lib/linear-regex/index.ts'
import type { LinearPattern, Span } from '../lib/linear-regex/index.ts'
import { beyondAscii, decodedRuns, plainUnits, withoutLookalikes } from './plain-text.ts'

/** What is done with what a rule finds. */
export type Action = 'mask' | 'block' | 'flag'

/** One thing to look for. */
export interface Rule {
  /** What it is called: `EMAIL_ADDRESS`. Letters, digits and underscores. */
  readonly name: string
  /** The name of its guardrail. */
  readonly guardrail: string
  readonly pattern: LinearPattern
  readonly action: Action
  /** Looks at a candidate: the span that counts, or undefined. Reads at most `contextLength` units around it. */
  readonly check?: ((text: string, span: Span) => Span | undefined) | undefined
}

/** A find in a text. */
export interface Finding extends Span {
  readonly rule: Rule
}

/** What was found; from `open` on it depends on what follows. */
export interface Scan {
  /** In order, without overlaps. */
  readonly findings: readonly Finding[]
  readonly open: number
}

/** Units before a text that rules may look at. */
export const contextLength = 64

const nothing: readonly Finding[] = []

/** Rules that are looked for together: a text without any of them is read once. */
export class Scanner {
  readonly rules: readonly Rule[]
  /** No find is longer, in units of UTF-16. */
  readonly lengthMax: number
  readonly #any: LinearPattern

  /** At least one rule. */
  constructor(rules: readonly Rule[]) {
    this.rules = rules
    this.lengthMax = Math.max(...rules.map(({ pattern }) => pattern.lengthMax))
    this.#any = rules.length === 1 ? rules[0]!.pattern : anyOf(rules.map(({ pattern }) => pattern))
  }

  /** What is in a whole text, as it is and as readers see it (`plain-text.ts`). */
  findAll(text: string): readonly Finding[] {
    const findings = this.#scanWhole(text)
    const hidden = this.findHidden(text)
    return hidden.length === 0 ? findings : settled([...findings, ...hidden], text.length).findings
  }

  /** Only what is not there in plain letters. */
  findHidden(text: string): readonly Finding[] {
    const found: Finding[] = []
    if (beyondAscii.test(text)) found.push(...this.#findDisguised(text))
    for (const { start, end, text: decoded } of decodedRuns(text))
      for (const { rule } of this.findAll(decoded)) found.push({ start, end, rule })
    return found.length > 1 ? settled(found, text.length).findings : found
  }

  #findDisguised(text: string): readonly Finding[] {
    const units = plainUnits(text)
    const plain = withoutLookalikes(units?.text ?? text)
    if (!units && plain === text) return nothing
    const offsets = units && offsetsOf(units.raws)
    return this.#scanWhole(plain).map(({ start, end, rule }) => ({
      start: offsets?.[start] ?? start,
      end: offsets?.[end] ?? end,
      rule,
    }))
  }

  #scanWhole(text: string): readonly Finding[] {
    return this.scan(text, { from: 0, isComplete: true }).findings
  }

  /** Looks from `from` on; what stands before is context. */
  scan(text: string, where: { readonly from: number; readonly isComplete: boolean }): Scan {
    if (!this.#any.touches(text, where)) return { findings: nothing, open: text.length }
    const all: Finding[] = []
    let open = text.length
    for (const rule of this.rules) {
      const { spans, open: ofRule } = rule.pattern.find(text, { ...where, ...(rule.check && { check: rule.check }) })
      for (const span of spans) all.push({ ...span, rule })
      open = Math.min(open, ofRule)
    }
    return settled(all, open)
  }
}

/** Where each unit begins in the text that it stands for, and where the last one ends. */
function offsetsOf(raws: readonly string[]): number[] {
  let at = 0
  const offsets = raws.map(raw => {
    const before = at
    at += raw.length
    return before
  })
  return [...offsets, at]
}

/** Finds that overlap become one, with the gravest rule; none of them reaches into the open part. */
function settled(all: Finding[], open: number): Scan {
  all.sort((a, b) => a.start - b.start)
  const merged: Finding[] = []
  for (const one of all) {
    const before = merged.at(-1)
    if (before === undefined || one.start >= before.end) merged.push(one)
    else merged[merged.length - 1] = joined(before, one)
  }
  const cut = merged.find(one => one.end > open && one.start < open)
  const end = cut ? cut.start : open
  return { findings: merged.filter(one => one.end <= end), open: end }
}

const order: readonly Action[] = ['block', 'mask', 'flag']

function joined(one: Finding, other: Finding): Finding {
  const isGraver = order.indexOf(other.rule.action) - order.indexOf(one.rule.action)
  const isOther = isGraver < 0 || (isGraver === 0 && other.end - other.start > one.end - one.start)
  return { start: one.start, end: Math.max(one.end, other.end), rule: isOther ? other.rule : one.rule }
}
