import clsx from 'clsx'
import { Ellipsis, Ghost, History as HistoryIcon, Plus, SlidersHorizontal } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { DragEvent } from 'react'
import type { HubModel } from '../../api/model-groups.ts'
import { Button } from '../../components/button.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { reportError } from '../../components/report-error.ts'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { t } from '../chat.page.ts'
import type { Chat } from './chat-state.ts'
import { Composer } from './composer.tsx'
import { ConversationMenu } from './conversation-menu.tsx'
import { History } from './history.tsx'
import { SettingsDialog } from './settings-dialog.tsx'
import { Thread } from './thread.tsx'
import { branchTo, isRunning } from './tree.ts'
import { useChosenModels } from './use-chosen-models.ts'
import { useFiles } from './use-files.ts'

interface ViewProps {
  /** Empty = it has not begun, or is not kept. */
  readonly id: string
  readonly models: readonly HubModel[]
  readonly chat: Chat
  readonly isTemporary: boolean
  /** Why nothing can be kept; null = it can. */
  readonly problem: string | null
  /** Of one that is kept: whether it is on its way, and what went wrong. */
  readonly loading: { readonly isLoading: boolean; readonly error: unknown; retry(): void } | undefined
  readonly onNew: () => void
  readonly onTemporary: (isOn: boolean) => void
}

/** The list of conversations, and the open one with what is typed next. */
export function ConversationView(props: ViewProps) {
  const { id, models, chat, problem, loading, onNew } = props
  const steps = branchTo(chat.messages, chat.currentId)
  const [chosen, setChosen] = useChosenModels(models, id, steps)
  const isStreaming = chat.messages.some(isRunning)
  const last = steps.at(-1)?.message
  const files = useFiles()
  const drop = useDrop(files.add)
  return (
    <>
      {problem === null && (
        <div className="hidden w-(--history) shrink-0 flex-col border-r border-line p-3 wide:flex">
          <History openId={id} onGone={onNew} />
        </div>
      )}
      {/* Files are dropped here; the button that picks them does the same. */}
      <div className="relative flex min-w-0 grow flex-col" {...drop.handlers}>
        {drop.isOver && <DropHint />}
        <Heading {...props} />
        {loading?.error ? (
          <ErrorState error={loading.error} onRetry={loading.retry} />
        ) : loading?.isLoading ? (
          <div className="mx-auto w-full max-w-reading grow p-4">
            <SkeletonRows count={6} />
          </div>
        ) : (
          <Thread {...props} steps={steps} chosen={chosen} isStreaming={isStreaming} />
        )}
        <div className="w-full px-4 pt-2 pb-4">
          <Composer
            conversation={props.isTemporary ? null : id}
            models={models}
            chosen={chosen}
            onChosen={setChosen}
            thinking={chat.settings.thinking_mode}
            onThinking={thinking_mode =>
              void chat.changeSettings({ ...chat.settings, thinking_mode }).catch(reportError)
            }
            isStreaming={isStreaming}
            files={files}
            onSend={async text => {
              const parentId = last?.role === 'assistant' ? last.id : null
              const given = files.files.map(({ file }) => ({ file }))
              await chat.ask({ text, files: given, models: chosen, parentId })
              files.clear()
            }}
            onStop={() => isStreaming && chat.stop()}
          />
        </div>
      </div>
    </>
  )
}

const hintClass = clsx(
  'pointer-events-none absolute inset-2 z-10 flex items-center justify-center rounded-panel border border-accent',
  'bg-raised font-semibold opacity-95',
)

/** Where files are let go. */
function DropHint() {
  return <p className={hintClass}>{t('chat.drop')}</p>
}

/** Files that are dragged over the conversation, and let go on it. */
function useDrop(add: (files: Iterable<File>) => void) {
  const [isOver, setOver] = useState(false)
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files')
  const handlers = {
    onDragOver(event: DragEvent) {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    },
    onDragLeave(event: DragEvent) {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
    },
    onDrop(event: DragEvent) {
      setOver(false)
      if (!hasFiles(event)) return
      event.preventDefault()
      add(event.dataTransfer.files)
    },
  }
  return { isOver, handlers }
}

/** The title, and what can be done with the whole conversation. */
function Heading({ id, chat, isTemporary, problem, onNew, onTemporary }: ViewProps) {
  const [open, setOpen] = useState<'settings' | 'history' | null>(null)
  const title = id === '' ? t(isTemporary ? 'chat.temporaryTitle' : 'chat.new') : chat.title || t('chat.untitled')
  useEffect(() => {
    document.title = `${title} · Modelgate`
  }, [title])
  const isEmpty = chat.messages.length === 0
  const close = () => setOpen(null)
  return (
    <header className="flex items-center gap-1 px-4 py-2">
      <h1 className="min-w-0 grow truncate text-title font-semibold">{title}</h1>
      {problem === null && id === '' && isEmpty && (
        <Button
          kind={isTemporary ? 'plain' : 'quiet'}
          icon={<Ghost size={16} aria-hidden />}
          aria-label={t('chat.temporaryTitle')}
          title={t('chat.temporaryTitle')}
          aria-pressed={isTemporary}
          onClick={() => onTemporary(!isTemporary)}
        />
      )}
      <Button
        kind="quiet"
        icon={<SlidersHorizontal size={16} aria-hidden />}
        aria-label={t('chat.settings')}
        title={t('chat.settings')}
        onClick={() => setOpen('settings')}
      />
      {problem === null && (
        <Button
          kind="quiet"
          className="wide:hidden"
          icon={<HistoryIcon size={16} aria-hidden />}
          aria-label={t('chat.history')}
          title={t('chat.history')}
          onClick={() => setOpen('history')}
        />
      )}
      {id !== '' && (
        <ConversationMenu
          conversation={{ id, title: chat.title }}
          onGone={onNew}
          trigger={
            <Button
              kind="quiet"
              icon={<Ellipsis size={16} aria-hidden />}
              aria-label={t('chat.actions', { title: chat.title || t('chat.untitled') })}
            />
          }
        />
      )}
      <Button data-primary icon={<Plus size={16} aria-hidden />} onClick={onNew}>
        {t('chat.new')}
      </Button>
      {open === 'settings' && (
        <SettingsDialog settings={chat.settings} onClose={close} onSave={changed => chat.changeSettings(changed)} />
      )}
      <Drawer open={open === 'history'} onClose={close} title={t('chat.history')}>
        <History openId={id} onGone={onNew} onOpen={close} />
      </Drawer>
    </header>
  )
}
