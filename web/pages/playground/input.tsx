import type { KeyboardEvent } from 'react'
import { TextArea } from '../../components/forms/field.tsx'
import { inputClass } from '../../components/forms/input-class.ts'
import { Tabs } from '../../components/tabs.tsx'
import { t } from '../playground.page.ts'
import type { Input, Operation } from './operations.ts'

interface InputProps {
  readonly operation: Operation
  readonly input: Input
  readonly onInput: (input: Input) => void
  /** The body as JSON; null = it is made of the fields. */
  readonly json: string | null
  /** What is wrong with it. */
  readonly jsonError: string | null
  readonly onJson: (json: string | null) => void
  readonly onRun: () => void
}

/** What all columns are asked: fields, or the body itself. */
export function InputView(props: InputProps) {
  const { operation, json, jsonError, onJson, onRun, input } = props
  const runKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return
    event.preventDefault()
    onRun()
  }
  if (operation.isForm) return <Fields {...props} />
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut of the fields in it; the button does the same
    <div onKeyDown={runKey}>
      <Tabs
        label={t('playground.request')}
        value={json === null ? 'fields' : 'json'}
        onChange={tab => onJson(tab === 'json' ? JSON.stringify(operation.body(input), undefined, 2) : null)}
        tabs={[
          { value: 'fields', label: t('playground.fields'), content: <Fields {...props} /> },
          {
            value: 'json',
            label: t('playground.body'),
            content: (
              <TextArea
                label={t('playground.body')}
                help={t('playground.bodyHelp')}
                error={jsonError}
                value={json ?? ''}
                onChange={onJson}
                rows={10}
                spellCheck={false}
              />
            ),
          },
        ]}
      />
    </div>
  )
}

function Fields({ operation, input, onInput }: InputProps) {
  const has = (field: keyof Input) => operation.fields.includes(field)
  return (
    <div className="flex flex-col gap-3">
      {has('system') && (
        <TextArea
          label={t('playground.system')}
          value={input.system}
          onChange={system => onInput({ ...input, system })}
          rows={2}
        />
      )}
      {has('text') && (
        <TextArea
          label={t(operation.textTitle)}
          help={operation.textHelp && t(operation.textHelp)}
          value={input.text}
          onChange={text => onInput({ ...input, text })}
          rows={4}
        />
      )}
      {has('documents') && (
        <TextArea
          label={t('playground.documents')}
          help={t('playground.documentsHelp')}
          value={input.documents}
          onChange={documents => onInput({ ...input, documents })}
          rows={5}
        />
      )}
      {has('file') && <FilePicker onFile={file => onInput({ ...input, file })} />}
    </div>
  )
}

function FilePicker({ onFile }: { readonly onFile: (file: File | null) => void }) {
  return (
    <label className="flex flex-col gap-1">
      <span className="font-medium">{t('playground.file')}</span>
      <input
        type="file"
        accept="audio/*,video/mp4,video/webm"
        className={inputClass}
        onChange={event => onFile(event.target.files?.[0] ?? null)}
      />
    </label>
  )
}
