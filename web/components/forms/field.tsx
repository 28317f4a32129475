import { Field as Base } from '@base-ui/react/field'
import clsx from 'clsx'
import type { ComponentProps, ReactNode } from 'react'
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
        dir="auto"
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
        dir="auto"
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
