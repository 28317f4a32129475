import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { PlugZap } from 'lucide-react'
import { useState } from 'react'
import { sendTo } from '../api/client.ts'
import { useModelGroups } from '../api/model-groups.ts'
import { Badge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/text/code-block.tsx'
import { Combobox } from '../components/forms/combobox.tsx'
import { TextField } from '../components/forms/field.tsx'
import { Page, Panel } from '../components/page.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import { Duration } from '../components/values.tsx'
import { useSearchValue } from '../lib/address.ts'
import { clientSetups, testCall } from '../lib/client-setups.ts'
import type { ClientSetup } from '../lib/client-setups.ts'
import { apiUrl, gatewayUrl } from '../lib/urls.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './connect.page.ts'

const noKey = 'YOUR_KEY'

/** How to point a program at this gateway: what to paste, and whether it works. */
export default function ConnectPage() {
  const models = useModelGroups()
  const names = models.data?.filter(one => one.mode === 'chat' || one.mode === null).map(one => one.model_group)
  const [wantedModel, setModel] = useSearchValue('model')
  const [wantedClient, setClient] = useSearchValue('client', clientSetups[0]!.id)
  // A secret: in no address and no storage, gone with the page.
  const [key, setKey] = useState('')
  const model = names?.includes(wantedModel) ? wantedModel : names?.[0]
  const client = clientSetups.find(one => one.id === wantedClient) ?? clientSetups[0]!
  return (
    <Page title={textOf(page.title)} isNarrow>
      <p className="text-muted">{t('connect.help')}</p>
      {models.isPending && <SkeletonRows count={4} />}
      {models.isError && <ErrorState error={models.error} onRetry={() => void models.refetch()} />}
      {names && model === undefined && (
        <EmptyState title={t('connect.noModels')}>{t('connect.noModelsHelp')}</EmptyState>
      )}
      {names && model !== undefined && (
        <>
          <Panel>
            <Select
              label={t('connect.client')}
              choices={clientSetups.map(({ id, name }) => ({ value: id, label: name }))}
              value={client.id}
              onChange={setClient}
            />
            <Combobox
              label={t('connect.model')}
              choices={names.map(name => ({ value: name, label: name }))}
              value={model}
              onChange={name => setModel(name ?? '')}
            />
            <TextField
              label={t('connect.key')}
              help={
                <>
                  {t('connect.keyHelp')}{' '}
                  <Link to="/keys" className="underline">
                    {t('connect.makeKey')}
                  </Link>
                </>
              }
              type="password"
              isCode
              value={key}
              onChange={text => setKey(text.trim())}
            />
          </Panel>
          <Steps client={client} model={model} text={key || noKey} />
          <ConnectionTest key={`${client.id} ${model} ${key}`} client={client} model={model} text={key} />
        </>
      )}
    </Page>
  )
}

interface ClientProps {
  readonly client: ClientSetup
  readonly model: string
  /** The key. */
  readonly text: string
}

function Steps({ client, model, text }: ClientProps) {
  return (
    <Panel title={t('connect.paste', { client: client.name })}>
      {client.isRemote && <p className="text-muted">{t('connect.remote', { client: client.name })}</p>}
      {client.steps({ gateway: gatewayUrl, key: text, model }).map(({ title, code }) => (
        <div key={title} className="flex min-w-0 flex-col gap-1">
          <p className="font-mono text-code break-words text-muted">{title}</p>
          <CodeBlock label={title} snippets={[{ title, code }]} />
        </div>
      ))}
    </Panel>
  )
}

/** One tiny call, as the program would make it: with the key, or as the person who is signed in. */
function ConnectionTest({ client, model, text }: ClientProps) {
  const check = useMutation({
    mutationFn: async () => {
      const startedMs = performance.now()
      const { path, body } = testCall(client.dialect, model)
      const response = await sendTo(apiUrl(path), { method: 'POST', body: JSON.stringify(body), key: text })
      await response.text()
      return performance.now() - startedMs
    },
  })
  return (
    <Panel title={t('connect.test')}>
      <p className="text-muted">{t(text === '' ? 'connect.testAsYou' : 'connect.testWithKey')}</p>
      <div className="flex flex-wrap items-center gap-4">
        <Button
          data-primary
          icon={<PlugZap size={16} aria-hidden />}
          busy={check.isPending}
          onClick={() => check.mutate()}
        >
          {t('connect.run')}
        </Button>
        <span role="status">
          {check.isSuccess && (
            <Badge tone="good">
              {t('connect.works', { model })} <Duration milliseconds={Math.round(check.data)} />
            </Badge>
          )}
        </span>
      </div>
      {check.isError && <ErrorState error={check.error} isInline />}
    </Panel>
  )
}
