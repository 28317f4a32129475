import { useState } from 'react'
import type { ProviderList } from '../../api/schema.d.ts'
import { useAddModel, useSupportedProviders } from '../../api/setup.ts'
import { Combobox } from '../../components/forms/combobox.tsx'
import { TextArea, TextField } from '../../components/forms/field.tsx'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { ErrorState } from '../../components/states.tsx'
import { jsonObject } from '../../lib/json-object.ts'
import { t } from '../models.page.ts'

type Provider = ProviderList['providers'][number]

/** A server of one's own with OpenAI's dialect: vLLM, llama.cpp, LM Studio ... */
const ownServer = 'custom_openai'

/** A model: provider, its key, the model's name, and what some providers need beside them. */
export function AddModel({ onClose }: { readonly onClose: () => void }) {
  const add = useAddModel()
  const [name, setName] = useState<string | null>(null)
  const [apiKey, setApiKey] = useState('')
  const [model, setModel] = useState('')
  const [baseUrl, setBaseUrl] = useState('')
  const [further, setFurther] = useState('')
  const provider = useSupportedProviders().data?.find(one => one.provider === name)
  const parameters = further.trim() === '' ? {} : jsonObject(further)
  const isReady = name !== null && model.trim() !== '' && parameters !== undefined
  const submit = () => {
    if (!isReady) return
    add.mutate(
      { provider: name, apiKey: apiKey.trim(), model: model.trim(), baseUrl: baseUrl.trim(), parameters },
      {
        onSuccess: made => {
          toast(t('setup.modelAdded', { name: made.model_name }))
          onClose()
        },
      },
    )
  }
  return (
    <CreateDialog
      onClose={onClose}
      title={t('setup.addModel')}
      description={t('setup.addModelHelp')}
      isReady={isReady}
      create={{ ...add, mutate: submit }}
      fields={[]}
    >
      <ProviderField value={name} onChange={setName} />
      <TextField
        label={t('setup.baseUrl')}
        help={provider?.base_url ? t('setup.baseUrlUsual', { address: provider.base_url }) : t('setup.baseUrlHelp')}
        isOptional={provider?.base_url !== null}
        value={baseUrl}
        onChange={setBaseUrl}
        isCode
      />
      <TextField
        label={t('setup.apiKey')}
        help={keyHelpOf(provider)}
        type="password"
        autoComplete="off"
        value={apiKey}
        onChange={setApiKey}
        isCode
      />
      <TextField
        label={t('setup.modelName')}
        help={t('setup.modelNameHelp')}
        value={model}
        onChange={setModel}
        isCode
      />
      <TextArea
        label={t('setup.parameters')}
        help={t('setup.parametersHelp')}
        value={further}
        onChange={setFurther}
        rows={2}
        error={parameters ? null : t('playground.noJson')}
      />
    </CreateDialog>
  )
}

interface ProviderFieldProps {
  /** null = none chosen. */
  readonly value: string | null
  readonly onChange: (value: string | null) => void
}

function ProviderField({ value, onChange }: ProviderFieldProps) {
  const { data = [], error, refetch } = useSupportedProviders()
  return (
    <>
      {error && <ErrorState error={error} isInline onRetry={() => void refetch()} />}
      <Combobox
        label={t('setup.provider')}
        value={value}
        onChange={onChange}
        choices={data.toSorted(ownServerFirst).map(one => ({ value: one.provider, label: labelOf(one) }))}
      />
    </>
  )
}

/** By its name it would stand where no reader looks for it. */
const ownServerFirst = (one: Provider, other: Provider): number =>
  Number(other.provider === ownServer) - Number(one.provider === ownServer)

const labelOf = ({ provider }: Provider): string => (provider === ownServer ? t('setup.ownServer') : provider)

/** Which variable is read in place of a key that is not typed. */
function keyHelpOf(provider: Provider | undefined): string {
  const variable = provider?.key_variables[0]
  return variable === undefined ? t('setup.apiKeyHelp') : t('setup.apiKeyOrVariable', { variable })
}
