import { useTitle } from '../core/hooks';
import { Empty } from '../parts/icons';

export function MissingPage() {
  useTitle('Not here');
  return (
    <section>
      <h1 class="hidden">Not here</h1>
      <Empty title="There is nothing at this address">
        <p>
          It may have been deleted, or the address is not quite right. <a href="/">Go home</a> or <a href="/search">search</a>.
        </p>
      </Empty>
    </section>
  );
}
