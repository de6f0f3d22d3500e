import { render } from 'preact';
import { App } from './app';
import { startRouter } from './core/router';
import { startSession } from './core/session';
import './style/base.css';
import './style/parts.css';
import './style/pages.css';

document.documentElement.dataset.theme = localStorage.getItem('quern.theme') ?? 'auto';
startRouter();
startSession();
render(<App />, document.getElementById('app')!);
