import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { Tag } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { budgetInWords } from '../components/gateway/limits.tsx'
import { Page } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago, Money } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useOpened, useSearchFlag } from '../lib/address.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './tags.page.ts'
import { CreateTag } from './tags/create-tag.tsx'
import { TagDrawer } from './tags/tag-drawer.tsx'
import { readTags } from './tags/read-tags.ts'

const columns: readonly Column<Tag>[] = [
  { id: 'name', title: t('tags.name'), width: 'minmax(120px, 2fr)', cell: tag => tag.name },
  { id: 'description', title: t('tags.description'), isWideOnly: true, cell: tag => tag.description ?? '–' },
  { id: 'models', title: t('tags.models'), isWideOnly: true, cell: tag => tag.models.join(', ') || '–' },
  { id: 'spend', title: t('all.spentEver'), align: 'end', cell: tag => <Money usd={tag.spend} /> },
  { id: 'budget', title: t('limits.budget'), align: 'end', cell: budgetInWords },
  { id: 'created', title: t('all.created'), isWideOnly: true, cell: tag => <Ago at={tag.created_at} /> },
]

const shownAtOnce = 100

/** Labels on calls, with budgets, limits and models of their own. */
export default function TagsPage() {
  const session = useSession().data
  const { text, searched, type } = useSearchText()
  const [openName, open, close] = useOpened('tag')
  const [isCreating, setCreating] = useSearchFlag('new')
  const [shown, setShown] = useState(shownAtOnce)
  const list = useQuery({ queryKey: ['tags'], queryFn: ({ signal }) => readTags(signal) })
  const wanted = searched.trim().toLowerCase()
  const found = list.data?.filter(tag => `${tag.name}\n${tag.description ?? ''}`.toLowerCase().includes(wanted))
  const create = session && isAdministrator(session) && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('tags.create')}
    </Button>
  )
  const empty =
    wanted === '' ? (
      <EmptyState title={t('tags.empty')}>{t('tags.emptyHelp')}</EmptyState>
    ) : (
      <EmptyState title={t('all.noMatch')} />
    )
  return (
    <Page
      title={textOf(page.title)}
      action={create}
      filters={<SearchField label={t('tags.search')} value={text} onChange={type} />}
    >
      {list.isError ? (
        <ErrorState error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Table
          label={textOf(page.title)}
          columns={columns}
          rows={found?.slice(0, shown)}
          rowId={tag => tag.name}
          rowLink={tag => ({ to: '.', search: { tag: tag.name } })}
          openId={openName}
          empty={empty}
          onMore={found && found.length > shown ? () => setShown(shown + shownAtOnce) : undefined}
        />
      )}
      {openName !== '' && <TagDrawer key={openName} name={openName} onClose={close} />}
      {isCreating && <CreateTag onClose={() => setCreating(false)} onCreated={name => open(name)} />}
    </Page>
  )
}
