import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import type { Guardrail, SpendLog } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Badge, Tag } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { HitList } from '../components/gateway/hit-list.tsx'
import { Missing } from '../components/overlays/missing.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useOpened } from '../lib/address.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './guardrails.page.ts'
import { GuardrailTester } from './guardrails/guardrail-tester.tsx'
import { GuardrailDrawer } from './guardrails/guardrail-drawer.tsx'
import { GuardrailForm } from './guardrails/guardrail-form.tsx'
import { modesOf } from './guardrails/modes.ts'

const columns: readonly Column<Guardrail>[] = [
  { id: 'name', title: t('guardrails.name'), width: 'minmax(140px, 2fr)', cell: one => one.guardrail_name },
  { id: 'kind', title: t('guardrails.kind'), cell: one => String(one.litellm_params.guardrail) },
  { id: 'stage', title: t('guardrails.stage'), isWideOnly: true, cell: one => modesOf(one).join(', ') },
  {
    id: 'holds',
    title: t('guardrails.holds'),
    width: 'minmax(150px, 1fr)',
    cell: one => (
      <Badge tone={one.litellm_params.default_on ? 'good' : 'plain'}>
        {t(one.litellm_params.default_on ? 'guardrails.always' : 'guardrails.named')}
      </Badge>
    ),
  },
  {
    id: 'source',
    title: t('guardrails.source'),
    isWideOnly: true,
    cell: one => <Tag>{t(one.guardrail_definition_location === 'config' ? 'models.byFile' : 'models.byApi')}</Tag>,
  },
]

/** `pii:mask(EMAIL_ADDRESS=1),words:pass`: those that said more than that it passes. */
const saidOf = ({ guardrails }: SpendLog): string =>
  (guardrails ?? '')
    .split(',')
    .filter(one => !one.endsWith(':pass'))
    .join(', ')

const hitColumns: readonly Column<SpendLog>[] = [
  {
    id: 'said',
    title: t('guardrails.verdict'),
    width: 'minmax(160px, 3fr)',
    cell: call => <span className="min-w-0 truncate font-mono text-code">{saidOf(call)}</span>,
  },
]

/** The rules that read texts: which there are, what each says to a sample, and what they met. */
export default function GuardrailsPage() {
  const session = useSession().data
  const mayChange = session !== undefined && isAdministrator(session)
  const [openId, , close] = useOpened('guardrail')
  const [isCreating, setCreating] = useState(false)
  const found = useQuery({
    queryKey: ['guardrails'],
    queryFn: ({ signal }) => ask('GET /v2/guardrails/list', { signal }),
  })
  const rows = found.data?.guardrails
  const chosen = rows?.find(one => one.guardrail_id === openId)
  const action = mayChange && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('guardrails.create')}
    </Button>
  )
  return (
    <Page title={textOf(page.title)} action={action}>
      {found.isError ? (
        <ErrorState error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={rows}
          rowId={one => one.guardrail_id}
          rowLink={one => ({ to: '.', search: { guardrail: one.guardrail_id } })}
          openId={openId}
          empty={<EmptyState title={t('guardrails.empty')}>{t('guardrails.emptyHelp')}</EmptyState>}
        />
      )}
      {found.data?.not_in_use.map(one => (
        <p key={one.guardrail_id} className="break-words border-l-2 border-warn pl-3">
          {t('guardrails.notInUse', { name: one.guardrail_name, problem: one.problem })}
        </p>
      ))}
      {rows && rows.length > 0 && <GuardrailTester names={rows.map(one => one.guardrail_name)} />}
      <HitList of="guardrail" title={t('guardrails.hits')} columns={hitColumns} empty={t('guardrails.noHits')} />
      {openId !== '' && rows && !chosen && <Missing name={openId} onClose={close} />}
      {chosen && <GuardrailDrawer key={openId} guardrail={chosen} mayChange={mayChange} onClose={close} />}
      {isCreating && <GuardrailForm onClose={() => setCreating(false)} />}
    </Page>
  )
}
