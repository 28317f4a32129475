import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { TextArea } from '../../components/forms/field.tsx'
import { Form } from '../../components/forms/form.tsx'
import { Panel } from '../../components/page.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../caching.page.ts'

/** Single answers, by the keys that `x-proxy-cache-key` told. */
export function ForgetAnswers() {
  const client = useQueryClient()
  const [text, setText] = useState('')
  const keys = text.split(/\s+/).filter(Boolean)
  const remove = useMutation({
    mutationFn: () => ask('POST /cache/delete', { body: { keys } }),
    onSuccess: () => {
      toast(t('caching.forgotten'))
      setText('')
      return client.invalidateQueries({ queryKey: ['cache'] })
    },
  })
  return (
    <Panel title={t('caching.forget')}>
      <Form
        className="flex flex-col gap-3"
        onSubmit={() => {
          if (keys.length > 0) remove.mutate()
        }}
      >
        <TextArea label={t('caching.keys')} help={t('caching.keysHelp')} value={text} onChange={setText} rows={3} />
        {remove.error && <ErrorState error={remove.error} isInline />}
        <div>
          <Button type="submit" busy={remove.isPending} disabled={keys.length === 0}>
            {t('caching.forget')}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}
