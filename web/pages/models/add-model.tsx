import { useState } from 'react'
import { useAddModel } from '../../api/setup.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/overlays/dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../../strings/index.ts'

/** Those that most installations begin with; all others are added on the page of models or in the configuration. */
const providers = [
  { value: 'openai', label: 'OpenAI', example: 'gpt-4.1-mini' },
  { value: 'anthropic', label: 'Anthropic', example: 'claude-sonnet-4-5' },
  { value: 'gemini', label: 'Google Gemini', example: 'gemini-2.5-flash' },
  { value: 'mistral', label: 'Mistral', example: 'mistral-small-latest' },
  { value: 'groq', label: 'Groq', example: 'llama-3.3-70b-versatile' },
  { value: 'openrouter', label: 'OpenRouter', example: 'openai/gpt-4.1-mini' },
]
/** A server of one's own with OpenAI's dialect: vLLM, llama.cpp, LM Studio ... */
const ownServer = 'custom_openai'

/** The first model: provider, its key, the model's name. */
export function AddModel({ onClose }: { readonly onClose: () => void }) {
  const add = useAddModel()
  const [provider, setProvider] = useState(providers[0]!.value)
  const [apiKey, setApiKey] = useState('')
  const [model, setModel] = useState('')
  const [baseUrl, setBaseUrl] = useState('')
  const isOwn = provider === ownServer
  const submit = () =>
    add.mutate(
      { provider, apiKey: apiKey.trim(), model: model.trim(), ...(isOwn && { baseUrl: baseUrl.trim() }) },
      {
        onSuccess: made => {
          toast(t('setup.modelAdded', { name: made.model_name }))
          onClose()
        },
      },
    )
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('setup.addModel')}
      description={t('setup.addModelHelp')}
      onSubmit={submit}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={add.isPending} disabled={model.trim() === ''}>
            {t('setup.addModel')}
          </Button>
        </>
      }
    >
      <Select
        label={t('setup.provider')}
        value={provider}
        onChange={setProvider}
        choices={[...providers, { value: ownServer, label: t('setup.ownServer') }]}
      />
      {isOwn && (
        <TextField
          label={t('setup.baseUrl')}
          help="http://127.0.0.1:8000/v1"
          value={baseUrl}
          onChange={setBaseUrl}
          isCode
        />
      )}
      <TextField
        label={t('setup.apiKey')}
        help={t('setup.apiKeyHelp')}
        type="password"
        autoComplete="off"
        value={apiKey}
        onChange={setApiKey}
        isCode
      />
      <TextField
        label={t('setup.modelName')}
        help={t('setup.modelNameHelp', {
          example: providers.find(one => one.value === provider)?.example ?? 'my-model',
        })}
        value={model}
        onChange={setModel}
        isCode
      />
      {add.error && <ErrorState error={add.error} isInline />}
    </Dialog>
  )
}
