import { X } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Combobox } from '../../components/forms/combobox.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { gatewayUrl } from '../../lib/urls.ts'
import { t } from '../playground.page.ts'
import { AnswerView } from './answer.tsx'
import type { Column } from './columns.ts'
import { copiesOf } from './copy-as.ts'
import { Figures } from './figures.tsx'
import { operationOf } from './operations.ts'
import type { Body, OperationName } from './operations.ts'
import { ParameterFields } from './parameters.tsx'
import type { Run } from './use-runs.ts'

interface ColumnProps {
  /** From 1. */
  readonly number: number
  readonly name: OperationName
  readonly models: readonly string[]
  readonly column: Column
  /** What would be sent now; undefined = the request is no JSON. */
  readonly body: Body | undefined
  readonly fileName: string
  readonly run: Run | undefined
  readonly onChange: (column: Column) => void
  readonly onStop: () => void
  /** Absent = the only one. */
  readonly onRemove?: (() => void) | undefined
}

/** One model with its parameters, its answer, and the same call as a program. */
export function ColumnView(props: ColumnProps) {
  const { number, name, models, column, body, fileName, run, onChange, onStop, onRemove } = props
  const label = t('playground.answerOf', { number })
  return (
    <section
      aria-label={t('playground.column', { number })}
      className="flex min-w-0 flex-col gap-4 rounded-panel border border-line bg-panel p-4"
    >
      <div className="flex items-end gap-2">
        <div className="min-w-0 grow">
          <Combobox
            label={t('playground.model')}
            choices={models.map(one => ({ value: one, label: one }))}
            value={column.model}
            onChange={model => onChange({ ...column, model: model ?? '' })}
          />
        </div>
        {onRemove && (
          <Button
            kind="quiet"
            icon={<X size={16} aria-hidden />}
            aria-label={t('playground.remove', { number })}
            onClick={onRemove}
          />
        )}
      </div>
      {operationOf(name).parameters.length > 0 && (
        <ParameterFields
          operation={operationOf(name)}
          value={column.parameters}
          onChange={parameters => onChange({ ...column, parameters })}
        />
      )}
      <Tabs
        label={t('playground.column', { number })}
        tabs={[
          { value: 'answer', label: t('playground.answer'), content: <AnswerView run={run} label={label} /> },
          { value: 'raw', label: t('playground.raw'), content: <Raw run={run} /> },
          {
            value: 'code',
            label: t('playground.code'),
            content: body && (
              <CodeBlock
                label={t('playground.code')}
                snippets={copiesOf({ name, body, gateway: gatewayUrl, fileName })}
              />
            ),
          },
        ]}
      />
      {run?.state === 'running' && <Button onClick={onStop}>{t('playground.stopOne', { number })}</Button>}
      {run && <Figures run={run} />}
    </section>
  )
}

function Raw({ run }: { readonly run: Run | undefined }) {
  if (!run || run.raw === '') return <p className="text-muted">{t('playground.idle')}</p>
  return <CodeBlock label={t('playground.raw')} snippets={[{ title: 'JSON', code: run.raw }]} />
}
