import { TextField } from '../../components/forms/field.tsx'
import { NumberField } from '../../components/forms/number-field.tsx'
import { Select } from '../../components/forms/select.tsx'
import { t } from '../playground.page.ts'
import type { Operation, Parameter, Parameters } from './operations.ts'

interface ParametersProps {
  readonly operation: Operation
  readonly value: Parameters
  readonly onChange: (value: Parameters) => void
}

/** What a column sets for itself; an empty field is not sent. */
export function ParameterFields({ operation, value, onChange }: ParametersProps) {
  const set = (name: string, given: string | number | null) => {
    const { [name]: _, ...others } = value
    onChange(given === null || given === '' ? others : { ...others, [name]: given })
  }
  return (
    <details>
      <summary className="text-muted">{t('playground.parameters')}</summary>
      <div className="grid grid-cols-2 gap-3 pt-3">
        {operation.parameters.map(parameter => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={value[parameter.name]}
            onChange={given => set(parameter.name, given)}
          />
        ))}
      </div>
    </details>
  )
}

interface FieldProps {
  readonly parameter: Parameter
  readonly value: string | number | undefined
  readonly onChange: (value: string | number | null) => void
}

function ParameterField({ parameter, value, onChange }: FieldProps) {
  const { title, number, choices } = parameter
  if (number)
    return (
      <NumberField
        label={t(title)}
        unit={number.unit ? t(number.unit) : ''}
        range={number.range}
        step={number.step}
        value={typeof value === 'number' ? value : null}
        onChange={onChange}
      />
    )
  const text = value === undefined ? '' : String(value)
  if (!choices) return <TextField label={t(title)} value={text} onChange={onChange} />
  return (
    <Select
      label={t(title)}
      value={text}
      onChange={onChange}
      choices={[{ value: '', label: t('playground.default') }, ...choices.map(one => ({ value: one, label: one }))]}
    />
  )
}
