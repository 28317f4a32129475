import { useState } from 'react'
import type { ConversationSettings } from '../../api/conversations.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/overlays/dialog.tsx'
import { TextArea } from '../../components/forms/field.tsx'
import { NumberField } from '../../components/forms/number-field.tsx'
import { answerTokens, shares, temperatures } from '../../lib/number-text.ts'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { t } from '../chat.page.ts'

interface SettingsDialogProps {
  readonly settings: ConversationSettings
  readonly onClose: () => void
  /** Rejects where it is refused. */
  readonly onSave: (settings: ConversationSettings) => Promise<void>
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high'] as const

/** How the answers of this conversation are asked for; what is left empty is as the model has it. */
export function SettingsDialog({ settings, onClose, onSave }: SettingsDialogProps) {
  const [changed, setChanged] = useState(settings)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const save = async () => {
    setBusy(true)
    await onSave(withoutEmpty(changed)).then(onClose, setError)
    setBusy(false)
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('chat.settings')}
      description={t('chat.settingsHelp')}
      onSubmit={() => void save()}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={isBusy}>
            {t('chat.save')}
          </Button>
        </>
      }
    >
      <Fields settings={changed} onChange={fields => setChanged(before => ({ ...before, ...fields }))} />
      {error !== undefined && <ErrorState error={error} isInline />}
    </Dialog>
  )
}

interface FieldsProps {
  readonly settings: ConversationSettings
  readonly onChange: (fields: ConversationSettings) => void
}

function Fields({ settings, onChange }: FieldsProps) {
  return (
    <>
      <TextArea
        label={t('chat.systemPrompt')}
        help={t('chat.systemPromptHelp')}
        value={settings.system_prompt ?? ''}
        onChange={system_prompt => onChange({ system_prompt })}
        rows={5}
      />
      <div className="grid grid-cols-1 gap-3 narrow:grid-cols-2">
        <NumberField
          label={t('playground.temperature')}
          unit={t('chat.upTo', { number: temperatures.max })}
          range={temperatures}
          step={0.1}
          value={settings.temperature ?? null}
          onChange={value => onChange({ temperature: value ?? undefined })}
        />
        <NumberField
          label={t('playground.topP')}
          unit={t('chat.upTo', { number: shares.max })}
          range={shares}
          step={0.05}
          value={settings.top_p ?? null}
          onChange={value => onChange({ top_p: value ?? undefined })}
        />
        <NumberField
          label={t('playground.maxTokens')}
          unit={t('playground.unit.tokens')}
          range={answerTokens}
          step={1}
          value={settings.max_tokens ?? null}
          onChange={value => onChange({ max_tokens: value ?? undefined })}
        />
        <Select
          label={t('playground.effort')}
          value={settings.reasoning_effort ?? ''}
          onChange={value => onChange({ reasoning_effort: value })}
          choices={[
            { value: '', label: t('chat.modelsOwn') },
            ...efforts.map(one => ({ value: one as string, label: one })),
          ]}
        />
      </div>
    </>
  )
}

function withoutEmpty(settings: ConversationSettings): ConversationSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined && value !== ''))
}
