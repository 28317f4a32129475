/** Finds what several rules look for in a text, whole or as it comes. */
import { anyOf } from '../lib/linear-regex/index.ts'
import type { LinearPattern, Span } from '../lib/linear-regex/index.ts'
import { encodedTexts } from './encoded-text.ts'
import { beyondAscii, plainUnits, withoutLookalikes } from './plain-text.ts'

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

/** Where a text is searched: what stands before `from` is context; `isComplete` = nothing follows. */
interface Where {
  readonly from: number
  readonly isComplete: boolean
}

const whole: Where = { from: 0, isComplete: true }

/** Rules that are looked for together: a text without any of them is read once. */
export class Scanner {
  readonly rules: readonly Rule[]
  /** No find is longer, in units of UTF-16. */
  readonly lengthMax: number
  readonly #any: LinearPattern

  readonly #readsDisguises: boolean

  /** At least one rule. Without `readsDisguises` a text is only read as it is. */
  constructor(rules: readonly Rule[], { readsDisguises } = { readsDisguises: true }) {
    this.rules = rules
    this.lengthMax = Math.max(...rules.map(({ pattern }) => pattern.lengthMax))
    this.#any = rules.length === 1 ? rules[0]!.pattern : anyOf(rules.map(({ pattern }) => pattern))
    this.#readsDisguises = readsDisguises
  }

  /** What is in a whole text, as it is and as readers see it. */
  findAll(text: string): readonly Finding[] {
    return together([this.scan(text, whole), this.#scanSeen(text, whole)]).findings
  }

  /** Looks from `from` on, at signs as they are written, at letters that look like Latin ones, and at base64. */
  scan(text: string, where: Where): Scan {
    const plain = this.#scanPlain(text, where)
    if (!this.#readsDisguises) return plain
    const others = [...this.#scanLookalikes(text, where), ...this.#scanEncoded(text, where)]
    return others.length === 0 ? plain : together([plain, ...others])
  }

  /** Without signs that show nothing, and with plain ones for others (`plain-text.ts`); undefined = it has neither. */
  #scanSeen(text: string, where: Where): Scan | undefined {
    const units = this.#readsDisguises && beyondAscii.test(text) ? plainUnits(text) : undefined
    if (!units) return undefined
    const offsets = offsetsOf(units.raws)
    const { findings, open } = this.scan(units.text, where)
    return {
      findings: findings.map(({ start, end, rule }) => ({ start: offsets[start]!, end: offsets[end]!, rule })),
      open: offsets[open]!,
    }
  }

  #scanLookalikes(text: string, where: Where): readonly Scan[] {
    if (!beyondAscii.test(text)) return []
    const latin = withoutLookalikes(text)
    const scans = latin === text ? [] : [this.#scanPlain(latin, where)]
    const possible = where.isComplete ? latin : withoutLookalikes(text, { isOpen: true })
    if (possible === latin) return scans
    // The last, unfinished word may turn out to be Latin: what would be found in it then is held until it ends.
    const { findings, open } = this.#scanPlain(possible, where)
    const undecided = findings.filter(({ start, end }) => possible.slice(start, end) !== latin.slice(start, end))
    return [...scans, { findings: [], open: Math.min(open, ...undecided.map(({ start }) => start)) }]
  }

  #scanEncoded(text: string, { from, isComplete }: Where): readonly Scan[] {
    const scans: Scan[] = []
    for (const one of encodedTexts(text, isComplete)) {
      const inside = { from: 0, isComplete: !one.isOpen }
      const { findings, open } = together([this.scan(one.text, inside), this.#scanSeen(one.text, inside)])
      const found = findings.map(({ start, end, rule }) => ({ ...one.sourceRange(start, end), rule }))
      const remaining = found
        .filter(({ end }) => end > from)
        .map(each => ({ ...each, start: Math.max(each.start, from) }))
      // The last digit may be the beginning of a letter.
      const opens =
        one.isOpen || open < one.text.length ? Math.max(one.sourceRange(open, open).start, from) : text.length
      scans.push(
        one.isCertain
          ? { findings: remaining, open: opens }
          : { findings: [], open: Math.min(opens, ...remaining.map(({ start }) => start)) },
      )
    }
    return scans
  }

  #scanPlain(text: string, where: Where): Scan {
    if (!this.#any.touches(text, where)) return { findings: [], open: text.length }
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

function together(scans: readonly (Scan | undefined)[]): Scan {
  const all = scans.filter(one => one !== undefined)
  return settled(
    all.flatMap(({ findings }) => findings),
    Math.min(...all.map(({ open }) => open)),
  )
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
