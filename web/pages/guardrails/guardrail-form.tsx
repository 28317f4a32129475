import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import type { Guardrail } from '../../api/schema.d.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { TextArea, TextField } from '../../components/forms/field.tsx'
import { useReadVersion } from '../../components/forms/read-version.ts'
import { Select } from '../../components/forms/select.tsx'
import { Switch } from '../../components/forms/switch.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { jsonObject } from '../../lib/json-object.ts'
import { t } from '../guardrails.page.ts'
import { modesOf } from './modes.ts'

/** Kinds with the fields that a first one needs. */
const kinds: Readonly<Record<string, object>> = {
  personal_data: { pii_entities_config: { EMAIL_ADDRESS: 'MASK', CREDIT_CARD: 'BLOCK' } },
  secrets: { action: 'block' },
  words: { words: ['project zanzibar'], action: 'block' },
  topics: { topics: [{ name: 'medicine', words: ['diagnosis', 'dosage'] }], action: 'flag' },
  regex: { patterns: [{ name: 'TICKET', pattern: 'TCK-\\d{6}', action: 'mask' }] },
  prompt_injection: {},
  json_schema: { json_schema: { type: 'object' } },
  language: { languages: ['en', 'de'] },
  length: { max_characters: 20_000 },
  guard_model: { model: 'local/simulated-guard' },
  moderation_model: { model: 'local/simulated-moderation' },
  presidio: { api_base: 'http://presidio:5002' },
  webhook: { api_base: 'https://checks.example.com/text' },
}

/** As one choice: most guardrails read questions, or both. */
const stages: Readonly<Record<string, string | string[]>> = {
  pre_call: 'pre_call',
  post_call: 'post_call',
  both: ['pre_call', 'post_call'],
  during_call: 'during_call',
  logging_only: 'logging_only',
}

const stageOf = (guardrail: Guardrail): string => {
  const modes = modesOf(guardrail)
  return modes.length > 1 ? 'both' : (modes[0] ?? 'pre_call')
}

interface GuardrailFormProps {
  /** Absent = a new one. */
  readonly guardrail?: Guardrail
  readonly onClose: () => void
}

/** A new guardrail, or other fields of one that was made by API. Masks leave secrets as they are. */
export function GuardrailForm({ guardrail, onClose }: GuardrailFormProps) {
  const client = useQueryClient()
  const { guardrail: before, mode: _, default_on: wasOn, ...known } = guardrail?.litellm_params ?? {}
  const [name, setName] = useState(guardrail?.guardrail_name ?? '')
  const [kind, setKind] = useState(String(before ?? 'personal_data'))
  const [stage, setStage] = useState(guardrail ? stageOf(guardrail) : 'both')
  const [isOn, setOn] = useState(wasOn === true)
  const [fields, setFields] = useState(JSON.stringify(guardrail ? known : kinds[kind], null, 2))
  const parsed = jsonObject(fields)
  const { version, onError } = useReadVersion(guardrail?.version, 'guardrails')
  const save = useMutation({
    mutationFn: () => {
      const params = { ...parsed, guardrail: kind, mode: stages[stage], default_on: isOn }
      const sent = { guardrail_name: name.trim(), litellm_params: params }
      if (!guardrail) return ask('POST /guardrails', { body: { guardrail: sent } })
      const { guardrail_id } = guardrail
      // PUT, so that a field that was taken out is gone.
      return ask('PUT /guardrails/{guardrail_id}', { path: { guardrail_id }, body: { guardrail: sent, version } })
    },
    onSuccess: () => {
      toast(t('guardrails.saved', { name: name.trim() }))
      onClose()
      return client.invalidateQueries({ queryKey: ['guardrails'] })
    },
    onError,
  })
  const failed = save.error instanceof ApiError ? save.error : null
  const nameError = failed?.field?.endsWith('guardrail_name') ? failed : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t(guardrail ? 'guardrails.edit' : 'guardrails.create')}
      isReady={name.trim() !== '' && parsed !== undefined}
      create={save}
      fields={nameError ? [nameError.field!] : []}
    >
      <TextField
        label={t('guardrails.name')}
        value={name}
        onChange={setName}
        maxLength={64}
        isCode
        error={nameError?.message}
      />
      <Select
        label={t('guardrails.kind')}
        choices={Object.keys(kinds).map(value => ({ value, label: value }))}
        value={kind}
        disabled={guardrail !== undefined}
        onChange={value => {
          setKind(value)
          setFields(JSON.stringify(kinds[value], null, 2))
        }}
      />
      <StageSelect stage={stage} onChange={setStage} />
      <Switch label={t('guardrails.always')} checked={isOn} onChange={setOn} />
      <TextArea
        label={t('guardrails.fields')}
        help={t('guardrails.fieldsHelp')}
        value={fields}
        onChange={setFields}
        rows={8}
        error={parsed ? null : t('playground.noJson')}
      />
    </CreateDialog>
  )
}

function StageSelect({ stage, onChange }: { readonly stage: string; readonly onChange: (stage: string) => void }) {
  const choices = Object.keys(stages).map(value => ({
    value,
    label: value === 'both' ? t('guardrails.both') : value,
  }))
  return <Select label={t('guardrails.stage')} choices={choices} value={stage} onChange={onChange} />
}
