import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Download, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { ask } from '../../api/client.ts'
import { forgetConversation, refreshConversationLists, showConversation } from '../../api/conversations.ts'
import type { Conversation } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { Confirm, Dialog } from '../../components/overlays/dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/overlays/menu.tsx'
import { reportError } from '../../components/report-error.ts'
import { ErrorState } from '../../components/states.tsx'
import { download } from '../../lib/csv.ts'
import { t } from '../chat.page.ts'

interface ConversationMenuProps {
  readonly conversation: Pick<Conversation, 'id' | 'title'>
  /** A Button. */
  readonly trigger: ReactElement
  /** Called when it is deleted, where it is open. */
  readonly onGone: (() => void) | undefined
}

/** Rename, export, delete. */
export function ConversationMenu({ conversation, trigger, onGone }: ConversationMenuProps) {
  const [open, setOpen] = useState<'rename' | 'delete' | null>(null)
  const icon = { size: 16, 'aria-hidden': true } as const
  const close = () => setOpen(null)
  return (
    <>
      <Menu trigger={trigger}>
        <MenuItem icon={<Pencil {...icon} />} onPress={() => setOpen('rename')}>
          {t('chat.rename')}
        </MenuItem>
        <MenuItem icon={<Download {...icon} />} onPress={() => void exportAs(conversation, 'json').catch(reportError)}>
          {t('chat.exportJson')}
        </MenuItem>
        <MenuItem
          icon={<Download {...icon} />}
          onPress={() => void exportAs(conversation, 'markdown').catch(reportError)}
        >
          {t('chat.exportMarkdown')}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={<Trash2 {...icon} />} isDanger onPress={() => setOpen('delete')}>
          {t('chat.delete')}
        </MenuItem>
      </Menu>
      {open === 'rename' && <Rename conversation={conversation} onClose={close} />}
      {open === 'delete' && <Delete conversation={conversation} onClose={close} onGone={onGone} />}
    </>
  )
}

type Named = Pick<Conversation, 'id' | 'title'>

/** The whole tree as JSON, or the branch that is shown as Markdown. */
async function exportAs({ id, title }: Named, format: 'json' | 'markdown'): Promise<void> {
  const operation = 'GET /chat/conversations/{conversation_id}/export'
  const exported = await ask(operation, { path: { conversation_id: id }, query: { format } })
  const name = title.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60) || id
  if (format === 'json') download(`${name}.json`, JSON.stringify(exported, undefined, 2), 'application/json')
  else download(`${name}.md`, exported.markdown ?? '', 'text/markdown')
}

function Rename({ conversation: { id, title }, onClose }: { conversation: Named; onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(title)
  const rename = useMutation({
    mutationFn: () =>
      ask('PATCH /chat/conversations/{conversation_id}', {
        path: { conversation_id: id },
        body: { title: name.trim() },
      }),
    onSuccess: changed => {
      showConversation(client, id, shown => ({ ...shown, title: changed.title, version: changed.version }))
      void refreshConversationLists(client)
      onClose()
    },
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('chat.rename')}
      onSubmit={() => rename.mutate()}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={rename.isPending} disabled={name.trim() === ''}>
            {t('chat.rename')}
          </Button>
        </>
      }
    >
      <TextField label={t('chat.title')} value={name} onChange={setName} maxLength={200} />
      {rename.isError && <ErrorState error={rename.error} isInline />}
    </Dialog>
  )
}

interface DeleteProps {
  readonly conversation: Named
  readonly onClose: () => void
  readonly onGone: (() => void) | undefined
}

function Delete({ conversation: { id, title }, onClose, onGone }: DeleteProps) {
  const client = useQueryClient()
  const remove = useMutation({
    mutationFn: () => ask('DELETE /chat/conversations/{conversation_id}', { path: { conversation_id: id } }),
    onSuccess: () => {
      onGone?.()
      onClose()
      return forgetConversation(client, id)
    },
  })
  return (
    <Confirm
      open
      onClose={onClose}
      title={t('chat.delete')}
      description={t('chat.deleteHelp', { title: title || t('chat.untitled') })}
      action={t('chat.delete')}
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      problem={remove.isError && <ErrorState error={remove.error} isInline />}
    />
  )
}
