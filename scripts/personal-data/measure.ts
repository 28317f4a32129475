/** Precision and recall on sentences whose values are known. */
import { compileCheck } from '../../src/guardrails/compile.ts'
import { Scanner } from '../../src/guardrails/scanner.ts'
import { kindNames, makers, templates } from './in-kind.ts'
import { generator } from './random.ts'

/** A value in a text; `kind` is the guardrail's name of it, or another's for kinds that it does not look for. */
interface KnownValue {
  readonly kind: string
  readonly start: number
  readonly end: number
}

/** A sentence with all of its values. */
export interface KnownSentence {
  readonly text: string
  readonly values: readonly KnownValue[]
}

interface KindCounts {
  values: number
  found: number
  asOther: number
}

/** All rules of the guardrail `personal_data`. */
export function scannerOfAll(): Scanner {
  const fail = () => Promise.reject(new Error('nothing is asked'))
  const { rules } = compileCheck({
    settings: {
      id: 'all',
      name: 'all',
      kind: 'personal_data',
      modes: ['pre_call'],
      defaultOn: false,
      recordsOnly: false,
      params: {},
      secrets: {},
      info: {},
      origin: 'config',
    },
    judges: { complete: fail, moderate: fail, post: fail },
    epochMs: () => 0,
  })
  return new Scanner(rules!)
}

/** Each template so often. */
export function sentencesInKind(times: number): KnownSentence[] {
  const random = generator(20261125)
  return templates.flatMap(template =>
    Array.from({ length: times }, () => {
      const values: KnownValue[] = []
      let text = ''
      let from = 0
      for (const { index, 0: place, 1: name = '' } of template.matchAll(/\{(\w+)\}/g)) {
        text += template.slice(from, index)
        const value = makers[name]!(random)
        const kind = kindNames[name]
        if (kind !== undefined) values.push({ kind: kind ?? name, start: text.length, end: text.length + value.length })
        text += value
        from = index + place.length
      }
      return { text: text + template.slice(from), values }
    }),
  )
}

/** A file of Presidio's research repository (`data/synth_dataset_v2.json`), which is not part of this one. */
export function sentencesOfPresidio(json: string): KnownSentence[] {
  const rows = JSON.parse(json) as readonly {
    full_text: string
    spans: { entity_type: string; start_position: number; end_position: number }[]
  }[]
  return rows.map(({ full_text: text, spans }) => ({
    text,
    values: spans.map(one => ({ kind: one.entity_type, start: one.start_position, end: one.end_position })),
  }))
}

/** Rows of a table: kind, values, found, under another name, missed, recall; then what was found beside. */
export function measured(sentences: readonly KnownSentence[]): string {
  const scanner = scannerOfAll()
  const looked = new Set(scanner.rules.map(one => one.name))
  const kinds = new Map<string, KindCounts>()
  let right = 0
  const wrong = new Map<string, string[]>()
  for (const { text, values } of sentences) {
    const finds = scanner.findAll(text)
    for (const { kind, start, end } of values) {
      const counts = kinds.get(kind) ?? { values: 0, found: 0, asOther: 0 }
      kinds.set(kind, counts)
      counts.values++
      const find = finds.find(one => one.start <= start && one.end >= end)
      if (find?.rule.name === kind) counts.found++
      else if (find) counts.asOther++
    }
    for (const find of finds) {
      const isRight = values.some(({ kind, start, end }) => looked.has(kind) && find.start < end && find.end > start)
      if (isRight) right++
      else wrong.set(find.rule.name, [...(wrong.get(find.rule.name) ?? []), text.slice(find.start, find.end)])
    }
  }
  const percent = (part: number, of: number) => `${((100 * part) / Math.max(of, 1)).toFixed(1)} %`
  const rows = [...kinds].sort(([a], [b]) => Number(looked.has(b)) - Number(looked.has(a)) || (a < b ? -1 : 1))
  const beside = [...wrong].map(
    ([name, texts]) => `${name} ${texts.length} (\`${[...new Set(texts)].slice(0, 4).join('`, `')}\`)`,
  )
  const misses = [...wrong.values()].reduce((sum, one) => sum + one.length, 0)
  return [
    '| kind | values | found | under another name | missed | recall |',
    '|---|---|---|---|---|---|',
    ...rows.map(([kind, { values, found, asOther }]) => {
      const cells = [
        looked.has(kind) ? kind : `${kind}, not looked for`,
        values,
        found,
        asOther,
        values - found - asOther,
      ]
      return `| ${[...cells, percent(found + asOther, values)].join(' | ')} |`
    }),
    '',
    `Of ${right + misses} finds ${misses} are none of the values: precision ${percent(right, right + misses)}.` +
      (beside.length > 0 ? ` They are ${beside.join('; ')}.` : ''),
  ].join('\n')
}
