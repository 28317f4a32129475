import { Field as Base } from '@base-ui/react/field'
import clsx from 'clsx'
import { useState } from 'react'
import type { KeyboardEvent } from 'react'
import { readNumber, writeNumber } from '../../lib/number-text.ts'
import type { NumberProblem, NumberRange } from '../../lib/number-text.ts'
import { language, t } from '../../strings/index.ts'
import { Field } from './field.tsx'
import type { FieldProps } from './field.tsx'
import { inputClass } from './input-class.ts'

interface NumberProps extends Omit<FieldProps, 'children'> {
  /** null = empty. */
  readonly value: number | null
  /** Called with what was read; with the value of before where the text is left as no number of the range. */
  readonly onChange: (value: number | null) => void
  /** Stands in the field, behind the number: `USD`, `requests/min`. */
  readonly unit: string
  readonly range: NumberRange
  /** What the arrow keys add and take away; absent = they do nothing. */
  readonly step?: number
  readonly placeholder?: string
}

/** What is in the field where it is not the number as it is written. */
interface Typed {
  readonly text: string
  /** What the field stood for before. */
  readonly before: number | null
  /** What it stood for when the focus left it; undefined = it has the focus. */
  readonly left?: number | null
}

/**
 * A number with its unit. What cannot be read as one number in the language of the pages is refused in a sentence, and
 * changes nothing: a `Form` around is not submitted.
 */
export function NumberField({ label, help, error, value, onChange, unit, range, step, placeholder }: NumberProps) {
  const [typed, setTyped] = useState<Typed>()
  const [isJudged, setJudged] = useState(false)
  const isOwn = typed !== undefined && (typed.left === undefined || typed.left === value)
  const text = isOwn ? typed.text : writeNumber(value, language)
  const found = isOwn ? readNumber(text, language, range) : { value }
  const problem = 'problem' in found ? problemText(found.problem, range) : null
  const shown = isJudged && problem !== null ? problem : error
  const type = (next: string) => {
    const before = isOwn ? typed.before : value
    const read = readNumber(next, language, range)
    setTyped({ text: next, before })
    if (!('problem' in read)) onChange(read.value)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') setJudged(true)
    const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key]
    if (step === undefined || direction === undefined || 'problem' in found) return
    event.preventDefault()
    type(writeNumber(stepped(found.value, direction * step, range), language))
  }
  const leave = () => {
    setJudged(problem !== null)
    if (problem === null || !typed) return setTyped(undefined)
    setTyped({ ...typed, left: typed.before })
    if (value !== typed.before) onChange(typed.before)
  }
  return (
    <Field label={label} help={help} error={shown}>
      <span className={clsx(inputClass, 'flex items-center gap-2')}>
        <Base.Control
          autoComplete="off"
          inputMode="decimal"
          placeholder={placeholder}
          aria-invalid={shown ? true : undefined}
          data-unreadable={problem === null ? undefined : ''}
          value={text}
          onValueChange={type}
          onKeyDown={press}
          onBlur={leave}
          className="numbers h-full touch:-my-px touch:h-11 min-w-0 grow bg-transparent outline-none"
        />
        <span className="text-muted">{unit}</span>
      </span>
    </Field>
  )
}

/** Rounded to what the field takes, so that tenths add up. */
function stepped(value: number | null, by: number, { min, max, decimals }: NumberRange): number {
  const next = value === null ? Math.max(0, min) : value + by
  return Number(Math.min(max, Math.max(min, next)).toFixed(decimals))
}

function problemText(problem: NumberProblem, { min, max, decimals }: NumberRange): string {
  const written = (number: number) => writeNumber(number, language)
  if (problem === 'unreadable') return t('number.unreadable', { example: written(decimals === 0 ? 1234 : 1234.5) })
  if (problem === 'digits') return t('number.digits')
  if (problem === 'range') return t('number.range', { min: written(min), max: written(max) })
  return decimals === 0 ? t('number.whole') : t('number.decimals', { count: decimals })
}
