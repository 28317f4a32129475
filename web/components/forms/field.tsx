import { Field as Base } from '@base-ui/react/field'
import { NumberField as BaseNumber } from '@base-ui/react/number-field'
import clsx from 'clsx'
import type { ComponentProps, ReactNode } from 'react'
import { language } from '../../strings/index.ts'
import { inputClass } from './input-class.ts'

export interface FieldProps {
  readonly label: string
  readonly help?: ReactNode
  /** What is wrong and what to do; replaces the help. */
  readonly error?: string | null | undefined
  readonly isOptional?: boolean
  readonly children: ReactNode
}

/** Label above, help or error below: read to screen readers with the control, which must be one of Base UI's. */
export function Field({ label, help, error, children }: FieldProps) {
  return (
    <Base.Root invalid={Boolean(error)} className="flex min-w-0 flex-col gap-1">
      <Base.Label className="font-medium">{label}</Base.Label>
      {children}
      {error ? (
        <Base.Error match className="text-bad">
          {error}
        </Base.Error>
      ) : (
        help && <Base.Description className="text-muted">{help}</Base.Description>
      )}
    </Base.Root>
  )
}

type TextProps = Omit<ComponentProps<typeof Base.Control>, 'className' | 'onChange' | 'value' | 'defaultValue'> &
  Omit<FieldProps, 'children'> & {
    readonly value: string
    readonly onChange: (value: string) => void
    /** Set in a monospace face: ids, code, addresses. */
    readonly isCode?: boolean
  }

export function TextField({ label, help, error, isOptional, value, onChange, isCode, ...others }: TextProps) {
  return (
    <Field label={label} help={help} error={error} isOptional={isOptional}>
      <Base.Control
        autoComplete="off"
        {...others}
        aria-invalid={error ? true : undefined}
        value={value}
        onValueChange={text => onChange(text)}
        className={clsx(inputClass, isCode && 'font-mono text-code')}
      />
    </Field>
  )
}

export function TextArea({ label, help, error, value, onChange, rows = 4, ...others }: TextProps & { rows?: number }) {
  return (
    <Field label={label} help={help} error={error}>
      <Base.Control
        {...others}
        aria-invalid={error ? true : undefined}
        value={value}
        onValueChange={text => onChange(text)}
        render={<textarea rows={rows} />}
        className={clsx(inputClass, 'h-auto py-2')}
      />
    </Field>
  )
}

interface NumberProps extends Omit<FieldProps, 'children'> {
  /** null = empty. */
  readonly value: number | null
  readonly onChange: (value: number | null) => void
  /** Stands in the field, behind the number: `USD`, `requests/min`. */
  readonly unit: string
  readonly min?: number
  readonly max?: number
  readonly step?: number
  readonly placeholder?: string
}

/** A number with its unit. The wheel scrolls the page and leaves the number alone. */
export function NumberField({ label, help, error, value, onChange, unit, placeholder, ...range }: NumberProps) {
  return (
    <Field label={label} help={help} error={error}>
      <BaseNumber.Root
        {...range}
        value={value}
        onValueChange={number => onChange(number)}
        allowWheelScrub={false}
        locale={language}
        format={{ maximumFractionDigits: 9 }}
      >
        <BaseNumber.Group className={clsx(inputClass, 'flex items-center gap-2')}>
          <BaseNumber.Input
            placeholder={placeholder}
            aria-invalid={error ? true : undefined}
            className="numbers h-full touch:-my-px touch:h-11 min-w-0 grow bg-transparent outline-none"
          />
          <span className="text-muted">{unit}</span>
        </BaseNumber.Group>
      </BaseNumber.Root>
    </Field>
  )
}
