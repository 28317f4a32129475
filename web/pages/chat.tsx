import { useModelGroups } from '../api/model-groups.ts'
import type { HubModel } from '../api/model-groups.ts'
import { useChatSettings } from '../api/conversations.ts'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import { useChangeSearch, useSearchValue } from '../lib/address.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './chat.page.ts'
import { ConversationView } from './chat/conversation-view.tsx'
import { useStoredChat } from './chat/use-stored-chat.ts'
import { useTemporaryChat } from './chat/use-temporary-chat.ts'

/** Talking to any model that this person may call. */
export default function ChatPage() {
  const models = useModelGroups()
  const settings = useChatSettings()
  const error = models.error ?? settings.error
  if (error)
    return (
      <Alone>
        <ErrorState error={error} onRetry={() => void Promise.all([models.refetch(), settings.refetch()])} />
      </Alone>
    )
  if (!models.data || !settings.data)
    return (
      <Alone>
        <SkeletonRows count={6} />
      </Alone>
    )
  const chatting = models.data.filter(one => one.mode === 'chat')
  if (chatting.length === 0)
    return (
      <Alone>
        <EmptyState title={t('chat.noModels')}>{t('chat.noModelsHelp')}</EmptyState>
      </Alone>
    )
  return <Chats models={chatting} problem={settings.data.storing_problem} />
}

/** What stands in the place of the chat. */
function Alone({ children }: { readonly children: React.ReactNode }) {
  return (
    <div className="mx-auto w-full max-w-reading p-4 narrow:p-6">
      <h1 className="sr-only">{textOf(page.title)}</h1>
      {children}
    </div>
  )
}

interface ChatsProps {
  readonly models: readonly HubModel[]
  /** Why nothing can be kept; null = it can. */
  readonly problem: string | null
}

/** The open conversation, a new one, or one that is not kept: the address says which. */
function Chats({ models, problem }: ChatsProps) {
  const [id] = useSearchValue('c')
  const [wantsTemporary] = useSearchValue('temporary')
  const change = useChangeSearch()
  const stored = useStoredChat(problem === null ? id : '', begun => change({ c: begun, model: undefined }))
  const temporary = useTemporaryChat()
  const isTemporary = problem !== null || (wantsTemporary !== '' && id === '')
  return (
    <ConversationView
      id={isTemporary ? '' : id}
      models={models}
      chat={isTemporary ? temporary : stored}
      isTemporary={isTemporary}
      problem={problem}
      loading={isTemporary ? undefined : stored}
      onNew={() => {
        temporary.clear()
        change({ c: undefined, model: undefined, temporary: undefined }, { push: true })
      }}
      onTemporary={isOn => {
        temporary.clear()
        change({ temporary: isOn ? '1' : undefined })
      }}
    />
  )
}
