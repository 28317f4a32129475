import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { setPublic } from '../../api/model-groups.ts'
import type { HubModel } from '../../api/model-groups.ts'
import { useSession } from '../../api/session.ts'
import { Tag } from '../../components/badge.tsx'
import { buttonClass } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { reportError } from '../../components/report-error.ts'
import { Switch } from '../../components/forms/switch.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Tokens } from '../../components/values.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../model-hub.page.ts'
import { abilities, abilityWords } from './abilities.ts'
import { operationOf, operationsOfMode } from '../playground/operations.ts'
import { firstCallsOf } from './first-call.ts'
import type { FirstCall } from './first-call.ts'
import { HealthBadge } from './health-badge.tsx'
import { PriceTable } from './price-table.tsx'

interface ModelDrawerProps {
  readonly model: HubModel
  readonly isSignedOut: boolean
  readonly onClose: () => void
}

/** One model: what it can, limits, prices with their tiers, and the first call of it. */
export function ModelDrawer({ model, isSignedOut, onClose }: ModelDrawerProps) {
  const session = useSession().data
  const name = model.model_group
  const can = abilities(model)
  const firstCalls = firstCallsOf(model)
  return (
    <Drawer open onClose={onClose} title={name} actions={<TryIt model={model} isSignedOut={isSignedOut} />}>
      <div className="flex flex-col gap-6">
        {model.description && <p>{model.description}</p>}
        <Facts
          facts={[
            { name: t('hub.model'), value: <Id id={name} /> },
            ...(model.aliases.length > 0 ? [{ name: t('hub.aliases'), value: model.aliases.join(', ') }] : []),
            { name: t('hub.provider'), value: model.providers.join(', ') },
            { name: t('hub.mode'), value: model.mode ?? t('hub.unknown') },
            { name: t('hub.health'), value: <HealthBadge model={model} /> },
            { name: t('hub.context'), value: <Tokens count={model.max_input_tokens} /> },
            { name: t('hub.answer'), value: <Tokens count={model.max_output_tokens} /> },
          ]}
        />
        {session && isAdministrator(session) && <PublicSwitch model={model} />}
        {can.length > 0 && <Words title={t('hub.ability')} words={can.map(one => t(abilityWords[one]))} />}
        {model.prices && (
          <Section title={t('hub.prices')}>
            <PriceTable prices={model.prices} />
          </Section>
        )}
        {model.supported_openai_params.length > 0 && (
          <Words title={t('hub.parameters')} words={model.supported_openai_params} />
        )}
        {firstCalls.length > 0 && (
          <Section title={t('hub.use')}>
            <FirstCalls name={name} calls={firstCalls} isSignedOut={isSignedOut} />
          </Section>
        )}
      </div>
    </Drawer>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">{title}</h2>
      {children}
    </section>
  )
}

function Words({ title, words }: { readonly title: string; readonly words: readonly string[] }) {
  return (
    <Section title={title}>
      <span className="flex flex-wrap gap-1">
        {words.map(one => (
          <Tag key={one}>{one}</Tag>
        ))}
      </span>
    </Section>
  )
}

interface FirstCallsProps {
  readonly name: string
  readonly calls: readonly FirstCall[]
  readonly isSignedOut: boolean
}

/** The first call in each API, which those who are signed in may try. */
function FirstCalls({ name, calls, isSignedOut }: FirstCallsProps) {
  const shown = ({ operation, snippets, hasKey }: FirstCall) => (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap justify-between gap-2">
        <span className="text-muted">{t(hasKey ? 'hub.useHelp' : 'hub.useKeyHelp')}</span>
        {!isSignedOut && (
          <Link to="/playground" search={{ model: name, op: operation }} className="target underline">
            {t('hub.tryThis')}
          </Link>
        )}
      </div>
      <CodeBlock label={t('hub.use')} snippets={snippets} />
    </div>
  )
  if (calls.length === 1) return shown(calls[0]!)
  return (
    <Tabs
      label={t('hub.apis')}
      tabs={calls.map(one => ({
        value: one.operation,
        label: t(operationOf(one.operation).title),
        content: shown(one),
      }))}
    />
  )
}

/** Strangers sign in first, and come back to the model. */
function TryIt({ model, isSignedOut }: { readonly model: HubModel; readonly isSignedOut: boolean }) {
  const { model_group: name, mode } = model
  if (isSignedOut) {
    const from = `/model_hub?${new URLSearchParams({ model: name })}`
    return (
      <Link to="/login" search={{ from }} className={buttonClass()}>
        {t('hub.signInToTry')}
      </Link>
    )
  }
  const op = mode === null ? 'chat' : operationsOfMode(mode)[0]
  return (
    <>
      {mode === 'chat' && (
        <Link to="/chat" search={{ model: name }} className={buttonClass()}>
          {t('hub.tryChat')}
        </Link>
      )}
      {op && (
        <Link to="/playground" search={{ model: name, op }} className={buttonClass()}>
          {t('hub.try')}
        </Link>
      )}
    </>
  )
}

/** For administrators: whether those who are not signed in see the model. */
function PublicSwitch({ model }: { readonly model: HubModel }) {
  const client = useQueryClient()
  const { model_group: name, is_public_model_group: isPublic } = model
  const change = useMutation({
    mutationFn: (wanted: boolean) => setPublic(name, wanted),
    onSuccess: (_, wanted) => {
      toast(t(wanted ? 'hub.nowPublic' : 'hub.nowHidden', { name }))
      return client.invalidateQueries({ queryKey: ['model-groups'] })
    },
    onError: reportError,
  })
  return (
    <Switch
      label={t('hub.public')}
      help={t('hub.publicHelp')}
      // What is public is shown when it is, not when it was asked for.
      checked={isPublic}
      disabled={change.isPending}
      onChange={wanted => change.mutate(wanted)}
    />
  )
}
