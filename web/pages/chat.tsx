import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useModelGroups } from '../api/model-groups.ts'
import { Button } from '../components/button.tsx'
import { TextArea } from '../components/field.tsx'
import { Page } from '../components/page.tsx'
import { Select } from '../components/select.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import { useSearchValue } from '../lib/address.ts'
import { t } from '../strings/index.ts'
import { TurnView } from './chat/turn.tsx'
import { useChat } from './chat/use-chat.ts'

/** Talking to any model that this person may call. */
export default function ChatPage() {
  const models = useModelGroups()
  const names = models.data?.filter(one => one.mode === 'chat').map(one => one.model_group)
  const [wanted, setModel] = useSearchValue('model')
  const model = names?.includes(wanted) ? wanted : names?.[0]
  const { turns, ask, stop, clear, isStreaming } = useChat()
  const send = (text: string) => void (model !== undefined && ask(turns, text, model))
  const fresh = (
    <Button data-primary icon={<Plus size={16} aria-hidden />} onClick={clear}>
      {t('chat.new')}
    </Button>
  )
  return (
    <Page title={t('nav.chat')} action={fresh} isNarrow>
      <p className="text-muted">{t('chat.temporary')}</p>
      {models.isPending && <SkeletonRows count={3} />}
      {models.isError && <ErrorState error={models.error} onRetry={() => void models.refetch()} />}
      {names && model === undefined && <EmptyState title={t('chat.noModels')}>{t('chat.noModelsHelp')}</EmptyState>}
      {names && model !== undefined && (
        <>
          <ol className="flex flex-col gap-6">
            {turns.map((turn, at) => (
              <TurnView
                // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added at the end and replaced there
                key={at}
                turn={turn}
                onRegenerate={
                  at === turns.length - 1 && !isStreaming
                    ? () => void ask(turns.slice(0, at), turn.question, model)
                    : undefined
                }
              />
            ))}
          </ol>
          <Composer
            names={names}
            model={model}
            onModel={setModel}
            isStreaming={isStreaming}
            onSend={send}
            onStop={stop}
          />
        </>
      )}
    </Page>
  )
}

interface ComposerProps {
  readonly names: readonly string[]
  readonly model: string
  readonly onModel: (name: string) => void
  readonly isStreaming: boolean
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Enter sends, Shift and Enter makes a line. */
function Composer({ names, model, onModel, isStreaming, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const send = () => {
    if (isStreaming || text.trim() === '') return
    setText('')
    onSend(text)
  }
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <TextArea
        label={t('chat.message')}
        value={text}
        onChange={setText}
        rows={3}
        onKeyDown={event => {
          // The Enter that ends a composition (Japanese, Chinese) is none of ours.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          send()
        }}
      />
      <div className="flex flex-wrap items-center justify-between gap-3">
        <Select
          isCompact
          label={t('chat.model')}
          choices={names.map(name => ({ value: name, label: name }))}
          value={model}
          onChange={onModel}
        />
        {isStreaming ? (
          <Button onClick={onStop}>{t('chat.stop')}</Button>
        ) : (
          <Button kind="primary" type="submit">
            {t('chat.send')}
          </Button>
        )}
      </div>
    </form>
  )
}
