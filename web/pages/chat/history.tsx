import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import clsx from 'clsx'
import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { useChatSettings, useConversationList } from '../../api/conversations.ts'
import type { ConversationList } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { SearchField } from '../../components/forms/search-field.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { groupBy } from '../../lib/group-by.ts'
import { t } from '../chat.page.ts'
import type { StringKey } from '../chat.page.ts'
import { ConversationMenu } from './conversation-menu.tsx'
import { RetentionDialog } from './retention-dialog.tsx'
import { useDebounced } from './use-debounced.ts'

type Listed = ConversationList['data'][number]

interface HistoryProps {
  /** The one that is open; empty = none. */
  readonly openId: string
  /** Called when the open one, or all, are deleted. */
  readonly onGone: () => void
  /** Called when one is opened. */
  readonly onOpen?: () => void
}

/** The conversations of this person, with a search over everything that was said. */
export function History({ openId, onGone, onOpen }: HistoryProps) {
  const [query, setQuery] = useState('')
  const list = useConversationList(useDebounced(query))
  const found = list.data?.pages.flatMap(page => page.data)
  const older = list.hasNextPage && (
    <Button kind="quiet" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
      {t(query === '' ? 'chat.showMore' : 'chat.searchOlder')}
    </Button>
  )
  return (
    <nav aria-label={t('chat.history')} className="flex min-h-0 grow flex-col gap-3">
      <SearchField label={t('chat.search')} value={query} onChange={setQuery} />
      <div className="flex min-h-0 grow flex-col gap-3 overflow-y-auto">
        {list.isPending && <SkeletonRows count={6} />}
        {list.isError && <ErrorState error={list.error} onRetry={() => void list.refetch()} isInline />}
        {found?.length === 0 && !list.hasNextPage && (
          <p className="px-2 text-muted">{t(query === '' ? 'chat.noHistory' : 'all.noMatch')}</p>
        )}
        {groupsOf(found ?? []).map(([title, conversations]) => (
          <section key={title} aria-label={t(title)}>
            <p className="px-2 text-code text-muted" aria-hidden>
              {t(title)}
            </p>
            <ul>
              {conversations.map(one => (
                <Row key={one.id} conversation={one} isOpen={one.id === openId} onGone={onGone} onOpen={onOpen} />
              ))}
            </ul>
          </section>
        ))}
        {older}
      </div>
      <Kept onGone={onGone} />
    </nav>
  )
}

interface RowProps {
  readonly conversation: Listed
  readonly isOpen: boolean
  readonly onGone: () => void
  readonly onOpen: (() => void) | undefined
}

function Row({ conversation, isOpen, onGone, onOpen }: RowProps) {
  const { id, title, excerpt, problem } = conversation
  return (
    <li className={clsx('group flex items-center rounded-control hover:bg-hover', isOpen && 'bg-selected')}>
      <Link
        to="/chat"
        search={{ c: id } as never}
        aria-current={isOpen ? 'page' : undefined}
        title={title}
        onClick={onOpen}
        className="flex min-h-8 touch:min-h-11 min-w-0 grow flex-col justify-center px-2 py-1"
      >
        <span className={clsx('truncate', isOpen && 'font-medium')}>
          {problem === null ? title || t('chat.untitled') : t('chat.unreadable')}
        </span>
        {excerpt && <span className="truncate text-code text-muted">{excerpt}</span>}
      </Link>
      <ConversationMenu
        conversation={conversation}
        onGone={isOpen ? onGone : undefined}
        trigger={
          <Button
            kind="quiet"
            className={clsx(!isOpen && 'opacity-0 group-hover:opacity-100 focus-visible:opacity-100 touch:opacity-100')}
            icon={<Ellipsis size={16} aria-hidden />}
            aria-label={t('chat.actions', { title: title || t('chat.untitled') })}
          />
        }
      />
    </li>
  )
}

/** How long conversations are kept: said where they are listed. */
function Kept({ onGone }: { readonly onGone: () => void }) {
  const settings = useChatSettings().data
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  if (!settings) return null
  const days = Math.min(...[settings.retention_days, settings.retention_days_max].map(one => one ?? Infinity))
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        className="rounded-control px-2 py-1 text-left text-code text-muted hover:bg-hover hover:text-text"
      >
        {days === Infinity ? t('chat.keptAlways') : t('chat.keptDays', { days })}
      </button>
      {isOpen && (
        <RetentionDialog
          settings={settings}
          onClose={() => setOpen(false)}
          onChanged={() => void client.invalidateQueries({ queryKey: ['conversations'] })}
          onDeleted={onGone}
        />
      )}
    </>
  )
}

const dayMs = 86_400_000

/** By the day of the last message, latest first. */
function groupsOf(list: readonly Listed[]): (readonly [StringKey, readonly Listed[]])[] {
  const today = new Date().setHours(0, 0, 0, 0)
  const titleOf = ({ updated_at }: Listed): StringKey => {
    const atMs = Date.parse(updated_at)
    if (atMs >= today) return 'chat.today'
    if (atMs >= today - dayMs) return 'chat.yesterday'
    return atMs >= today - 7 * dayMs ? 'chat.thisWeek' : 'chat.older'
  }
  return [...groupBy(list, titleOf)]
}
